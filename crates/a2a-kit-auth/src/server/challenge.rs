//! Authentication challenges (`WWW-Authenticate`, RFC 9110 §11.6.1).

use std::{collections::BTreeSet, sync::Arc};

use super::{request_credentials::quoted, verifier::EnforcedScheme};

/// Error codes of bearer tokens (RFC 6750 §3.1).
const INVALID_TOKEN: &str = "invalid_token";
const INSUFFICIENT_SCOPE: &str = "insufficient_scope";

/// The challenges of requirements, computed once.
#[derive(Clone, Debug)]
pub(super) struct Challenges {
    realm: String,
    /// The names of the schemes, for the error message.
    pub(super) schemes: String,
    /// For requests without credentials.
    pub(super) missing: String,
    /// For requests with invalid credentials.
    pub(super) invalid: String,
}

impl Challenges {
    /// Returns the challenges of the required schemes, or of all schemes if none are required.
    pub(super) fn of<'a>(
        required: impl Iterator<Item = (&'a Arc<str>, &'a BTreeSet<String>)>,
        schemes: &[EnforcedScheme],
        realm: &str,
    ) -> Self {
        let none = BTreeSet::new();
        let find = |name: &str| schemes.iter().find(|scheme| *scheme.name == *name);
        let mut required: Vec<(&EnforcedScheme, &BTreeSet<String>)> =
            required.filter_map(|(name, scopes)| Some((find(name)?, scopes))).collect();
        if required.is_empty() {
            required = schemes.iter().map(|scheme| (scheme, &none)).collect();
        }
        let realm = quoted(realm);
        let mut names: Vec<&str> = Vec::new();
        for (scheme, _) in &required {
            if !names.contains(&&*scheme.name) {
                names.push(&scheme.name);
            }
        }
        Self {
            schemes: names.join(", "),
            missing: list(&required, &realm, None),
            invalid: list(&required, &realm, Some(INVALID_TOKEN)),
            realm,
        }
    }

    /// The challenge for an authenticated caller that lacks scopes.
    pub(super) fn insufficient(&self, scopes: &BTreeSet<String>) -> String {
        bearer(&self.realm, scopes, Some(INSUFFICIENT_SCOPE))
    }
}

fn list(
    required: &[(&EnforcedScheme, &BTreeSet<String>)],
    realm: &str,
    error: Option<&str>,
) -> String {
    let mut challenges: Vec<String> = Vec::new();
    for (scheme, scopes) in required {
        let challenge = scheme.location.challenge(realm);
        let challenge = challenge.unwrap_or_else(|| bearer(realm, scopes, error));
        if !challenges.contains(&challenge) {
            challenges.push(challenge);
        }
    }
    // Bearer first, as the challenge that most clients support.
    challenges.sort_by_key(|challenge| !challenge.starts_with("Bearer"));
    challenges.join(", ")
}

fn bearer(realm: &str, scopes: &BTreeSet<String>, error: Option<&str>) -> String {
    let mut challenge = format!("Bearer realm=\"{realm}\"");
    if let Some(error) = error {
        challenge.push_str(&format!(", error=\"{error}\""));
    }
    if !scopes.is_empty() {
        let scopes: Vec<_> = scopes.iter().map(|scope| quoted(scope)).collect();
        challenge.push_str(&format!(", scope=\"{}\"", scopes.join(" ")));
    }
    challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_challenge_has_the_error_and_the_scopes() {
        let scopes = BTreeSet::from(["write".to_owned(), "read".to_owned()]);
        for (error, expected) in [
            (None, "Bearer realm=\"a2a\", scope=\"read write\""),
            (
                Some(INSUFFICIENT_SCOPE),
                "Bearer realm=\"a2a\", error=\"insufficient_scope\", scope=\"read write\"",
            ),
        ] {
            assert_eq!(bearer("a2a", &scopes, error), expected);
        }
        let invalid = bearer("a2a", &BTreeSet::new(), Some(INVALID_TOKEN));
        assert_eq!(invalid, "Bearer realm=\"a2a\", error=\"invalid_token\"");
    }
}
