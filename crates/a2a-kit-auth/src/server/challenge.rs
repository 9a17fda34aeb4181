//! Authentication challenges (`WWW-Authenticate`, RFC 9110 §11.6.1).

use std::{collections::BTreeSet, sync::Arc};

use super::{request_credentials::CredentialLocation, scheme::EnforcedScheme};

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
        let challenge = match &scheme.location {
            CredentialLocation::Bearer => bearer(realm, scopes, error),
            CredentialLocation::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
            CredentialLocation::Header(name) => key(realm, "header", name),
            CredentialLocation::Cookie(name) => key(realm, "cookie", name),
            CredentialLocation::Query(name) => key(realm, "query", name),
            // There is no standard challenge for mutual TLS, but a 401 must have one.
            CredentialLocation::Certificate => format!("MutualTLS realm=\"{realm}\""),
        };
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

// There is no standard challenge for API keys; other servers use this one.
fn key(realm: &str, location: &str, name: &str) -> String {
    format!("ApiKey realm=\"{realm}\", in=\"{location}\", name=\"{}\"", quoted(name))
}

/// Removes characters that are not allowed in a quoted string.
fn quoted(text: &str) -> String {
    let is_allowed = |letter: &char| matches!(letter, ' '..='~') && !matches!(letter, '"' | '\\');
    text.chars().filter(is_allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_card_cannot_inject_into_a_challenge() {
        let name = "k\", Basic realm=\"x\r\nSet-Cookie: a=b\u{e4}";
        let challenge = key(&quoted("a\"b"), "header", name);
        assert_eq!(
            challenge,
            "ApiKey realm=\"ab\", in=\"header\", name=\"k, Basic realm=xSet-Cookie: a=b\""
        );
    }

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
