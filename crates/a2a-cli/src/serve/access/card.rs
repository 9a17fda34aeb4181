//! The card and who may call: what the card declares is what is enforced, and the other way round.

use std::sync::Arc;

use a2a_auth::server::Guard;
use a2a_core::{
    AgentCard,
    v1::{SecurityRequirement, SecurityScheme, StringList, security_scheme::Scheme},
};

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
