//! Matches the security schemes of the card with those of the settings.

use std::sync::Arc;

use a2a_core::{
    AgentCard,
    v1::{SecurityRequirement, SecurityScheme, StringList, security_scheme::Scheme},
};
use a2a_kit_auth::server::Guard;

use serde_json::Value;

use super::{Access, Declared};
use crate::failure::Failure;

impl Access {
    /// Declares the configured schemes in the card. A card that already declares schemes keeps
    /// them, provided that they match the configured ones.
    pub(in crate::serve) fn declare(&self, card: &mut AgentCard) -> Result<(), Failure> {
        if card.security_schemes.is_empty() {
            for declared in &self.schemes {
                let scheme = SecurityScheme { scheme: Some(declared.scheme.clone()) };
                if card.security_schemes.insert(declared.name.clone(), scheme).is_some() {
                    let error = format!("duplicate security scheme name {:?}", declared.name);
                    return Err(Failure::usage(error));
                }
            }
        }
        let named = self.named(card)?;
        if card.security_requirements.is_empty() && self.is_for_all() {
            // Any one of them is sufficient.
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

    /// Returns the guard for a card after [`declare`](Self::declare).
    pub(in crate::serve) fn guard(&self, card: &AgentCard) -> Result<Guard, Failure> {
        let named = self.named(card)?;
        Ok(named.into_iter().fold(self.guard.clone(), |guard, (name, declared)| {
            guard.with_shared_verifier(name, Arc::clone(&declared.verifier))
        }))
    }

    /// Returns the configured schemes by their name in the card.
    fn named(&self, card: &AgentCard) -> Result<Vec<(String, &Declared)>, Failure> {
        let mut left: Vec<_> = self.schemes.iter().collect();
        let mut named = Vec::new();
        for (name, scheme) in &card.security_schemes {
            let scheme = scheme.scheme.as_ref();
            let matches =
                |declared: &&Declared| scheme.is_some_and(|scheme| is_match(declared, scheme));
            let by_name = left.iter().position(|one| one.name == *name && matches(one));
            let Some(index) = by_name.or_else(|| left.iter().position(matches)) else {
                return Err(unenforced(name));
            };
            named.push((name.clone(), left.remove(index)));
        }
        match left.first() {
            None => Ok(named),
            Some(missing) => Err(Failure::usage(format!(
                "the card declares no security scheme for {}",
                missing.source
            ))
            .with_hint("omit securitySchemes from the card to have them added")),
        }
    }
}

/// Rejects a card with security schemes if authentication is not configured.
pub(in crate::serve) fn check_open(card: &AgentCard) -> Result<(), Failure> {
    card.security_schemes.keys().next().map_or(Ok(()), |name| Err(unenforced(name)))
}

/// Returns the plaintext URLs in the security schemes of a card, each with its scheme: clients send
/// secrets to them (spec §4.5).
pub(in crate::serve) fn plaintext_urls(card: &AgentCard) -> Vec<String> {
    let mut found = Vec::new();
    for (name, scheme) in &card.security_schemes {
        let mut collect = |url: &str| {
            if !url.starts_with("https://") {
                found.push(format!("{url} of security scheme {name:?}"));
            }
        };
        match serde_json::to_value(scheme) {
            Ok(value) => urls(&value, &mut collect),
            Err(error) => tracing::debug!(%error, "security scheme serialization failed"),
        }
    }
    found
}

/// Calls `found` with each member whose name ends in `Url`.
fn urls(value: &Value, found: &mut impl FnMut(&str)) {
    let Value::Object(members) = value else { return };
    for (name, member) in members {
        match member {
            Value::String(url) if name.ends_with("Url") => found(url),
            // Scope names are arbitrary.
            _ if name == "scopes" => {}
            other => urls(other, found),
        }
    }
}

fn unenforced(name: &str) -> Failure {
    Failure::usage(format!(
        "the card declares security scheme {name:?}, which [auth] does not configure"
    ))
    .with_hint("configure it in [auth], or remove the scheme from the card")
}

/// Returns whether a scheme in the card matches a configured one.
fn is_match(declared: &Declared, scheme: &Scheme) -> bool {
    match (&declared.scheme, scheme) {
        (Scheme::ApiKeySecurityScheme(own), Scheme::ApiKeySecurityScheme(other)) => {
            own.location == other.location && own.name.eq_ignore_ascii_case(&other.name)
        }
        (_, other) => declared.verifier.supports(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn plaintext_urls_of_security_schemes_are_found() {
        let scheme = |json: Value| {
            let mut card = AgentCard::new("a", "b");
            card.security_schemes.insert("s".into(), serde_json::from_value(json).unwrap());
            plaintext_urls(&card)
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
