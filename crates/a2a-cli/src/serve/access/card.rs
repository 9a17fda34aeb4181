//! The card and who may call: what the card declares is what is enforced, and the other way round.

use std::sync::Arc;

use a2a_auth::server::Guard;
use a2a_core::{
    AgentCard,
    v1::{SecurityRequirement, SecurityScheme, StringList, security_scheme::Scheme},
};

use serde_json::Value;

use super::{Access, Declared};
use crate::failure::Failure;

impl Access {
    /// Declares in the card what callers need. A card that declares schemes itself keeps them,
    /// if each is one that is asked for, and each that is asked for is there.
    ///
    /// # Errors
    ///
    /// A usage failure that names the scheme.
    pub(in crate::serve) fn declare(&self, card: &mut AgentCard) -> Result<(), Failure> {
        if card.security_schemes.is_empty() {
            for declared in &self.schemes {
                let scheme = SecurityScheme { scheme: Some(declared.scheme.clone()) };
                if card.security_schemes.insert(declared.name.clone(), scheme).is_some() {
                    let said = format!("two security schemes are called {:?}", declared.name);
                    return Err(Failure::usage(said));
                }
            }
        }
        let named = self.named(card)?;
        if card.security_requirements.is_empty() {
            // Each alone is enough.
            for (name, declared) in &named {
                let scopes = StringList { list: declared.scopes.clone() };
                let schemes = [(name.clone(), scopes)].into();
                card.security_requirements.push(SecurityRequirement { schemes });
            }
            if self.is_open {
                card.security_requirements.push(SecurityRequirement::default());
            }
        }
        Ok(())
    }

    /// What enforces a card that [`declare`](Self::declare) was at.
    ///
    /// # Errors
    ///
    /// As there.
    pub(in crate::serve) fn guard(&self, card: &AgentCard) -> Result<Guard, Failure> {
        let named = self.named(card)?;
        Ok(named.into_iter().fold(self.guard.clone(), |guard, (name, declared)| {
            guard.with_verifier(name, Arc::clone(&declared.verifier))
        }))
    }

    /// What is asked for, by its name in the card.
    fn named(&self, card: &AgentCard) -> Result<Vec<(String, &Declared)>, Failure> {
        let mut left: Vec<_> = self.schemes.iter().collect();
        let mut named = Vec::new();
        for (name, scheme) in &card.security_schemes {
            let scheme = scheme.scheme.as_ref();
            let fits = |declared: &&Declared| scheme.is_some_and(|scheme| fits(declared, scheme));
            let by_name = left.iter().position(|one| one.name == *name && fits(one));
            let Some(place) = by_name.or_else(|| left.iter().position(fits)) else {
                return Err(nothing_behind(name));
            };
            named.push((name.clone(), left.remove(place)));
        }
        match left.first() {
            None => Ok(named),
            Some(missing) => Err(Failure::usage(format!(
                "the card declares no security scheme for {}",
                missing.asked
            ))
            .with_hint("leave securitySchemes out of the card, and it is filled in")),
        }
    }
}

/// Refuses a card that declares what nothing enforces.
///
/// # Errors
///
/// A usage failure that names the scheme.
pub(in crate::serve) fn check_open(card: &AgentCard) -> Result<(), Failure> {
    card.security_schemes.keys().next().map_or(Ok(()), |name| Err(nothing_behind(name)))
}

/// The addresses in the security schemes of a card that callers would go to in clear, each with
/// its scheme: they carry secrets (spec §4.5).
pub(in crate::serve) fn in_clear(card: &AgentCard) -> Vec<String> {
    let mut found = Vec::new();
    for (name, scheme) in &card.security_schemes {
        let mut collect = |url: &str| {
            if !url.starts_with("https://") {
                found.push(format!("{url} of the security scheme {name:?}"));
            }
        };
        match serde_json::to_value(scheme) {
            Ok(value) => urls(&value, &mut collect),
            Err(error) => tracing::debug!(%error, "a security scheme can't be looked through"),
        }
    }
    found
}

/// Every text that is called a URL.
fn urls(value: &Value, found: &mut impl FnMut(&str)) {
    let Value::Object(members) = value else { return };
    for (name, member) in members {
        match member {
            Value::String(url) if name.ends_with("Url") => found(url),
            // What is in there is called as its issuer pleases.
            _ if name == "scopes" => {}
            other => urls(other, found),
        }
    }
}

fn nothing_behind(name: &str) -> Failure {
    Failure::usage(format!(
        "the card declares the security scheme {name:?}, and nothing in [auth] is behind it"
    ))
    .with_hint("say in [auth] of the settings who may call, or leave the scheme out of the card")
}

/// Returns whether callers of a scheme in the card show what is asked for.
fn fits(declared: &Declared, scheme: &Scheme) -> bool {
    match (&declared.scheme, scheme) {
        (Scheme::ApiKeySecurityScheme(own), Scheme::ApiKeySecurityScheme(other)) => {
            own.location == other.location && own.name.eq_ignore_ascii_case(&other.name)
        }
        (_, other) => declared.verifier.fits(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn addresses_that_secrets_go_to_in_clear_are_found() {
        let scheme = |json: Value| {
            let mut card = AgentCard::new("a", "b");
            card.security_schemes.insert("s".into(), serde_json::from_value(json).unwrap());
            in_clear(&card)
        };
        let flow = |token: &str, refresh: &str| {
            let flow = serde_json::json!({
                "tokenUrl": token, "refreshUrl": refresh, "scopes": { "readUrl": "reads" },
            });
            serde_json::json!({ "clientCredentials": flow })
        };
        let oauth = |flows: Value, metadata: &str| {
            let scheme = serde_json::json!({ "flows": flows, "oauth2MetadataUrl": metadata });
            serde_json::json!({ "oauth2SecurityScheme": scheme })
        };
        let fine = "https://a.example";
        let clear = "http://b.example/token";
        for (json, count) in [
            (oauth(flow(fine, fine), fine), 0),
            (oauth(flow(clear, fine), fine), 1),
            (oauth(flow(clear, clear), clear), 3),
            (
                serde_json::json!({ "openIdConnectSecurityScheme": { "openIdConnectUrl": clear } }),
                1,
            ),
            (serde_json::json!({ "httpAuthSecurityScheme": { "scheme": "bearer" } }), 0),
        ] {
            let found = scheme(json.clone());
            assert_eq!(found.len(), count, "{json}: {found:?}");
            assert!(found.iter().all(|one| one.contains(clear) && one.contains("\"s\"")));
        }
    }
}
