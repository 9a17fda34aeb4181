//! How callers are told what to authenticate with (`WWW-Authenticate`, RFC 9110 §11.6.1).

use std::collections::BTreeSet;

use super::{presented::Place, requirement::Requirements, scheme::Enforced};

/// What is wrong with what a bearer presented (RFC 6750 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BearerError {
    InvalidToken,
    InsufficientScope,
}

/// What a requirement that isn't met is answered with, made once.
#[derive(Clone, Debug)]
pub(super) struct Challenges {
    realm: String,
    /// The names of the schemes, for the message.
    pub(super) schemes: String,
    /// For who presents nothing.
    pub(super) missing: String,
    /// For who presents something that is wrong.
    pub(super) invalid: String,
}

impl Challenges {
    /// The challenges of requirements; without any, one for every scheme there is.
    pub(super) fn of(requirements: &Requirements, schemes: &[Enforced], realm: &str) -> Self {
        let none = BTreeSet::new();
        let find = |name: &str| schemes.iter().find(|scheme| *scheme.name == *name);
        let mut asked: Vec<(&Enforced, &BTreeSet<String>)> = requirements
            .schemes()
            .filter_map(|(name, scopes)| Some((find(name)?, scopes)))
            .collect();
        if asked.is_empty() {
            asked = schemes.iter().map(|scheme| (scheme, &none)).collect();
        }
        let realm = quoted(realm);
        let mut names: Vec<&str> = Vec::new();
        for (scheme, _) in &asked {
            if !names.contains(&&*scheme.name) {
                names.push(&scheme.name);
            }
        }
        Self {
            schemes: names.join(", "),
            missing: list(&asked, &realm, None),
            invalid: list(&asked, &realm, Some(BearerError::InvalidToken)),
            realm,
        }
    }

    /// For who is known and lacks scopes.
    pub(super) fn insufficient(&self, scopes: &BTreeSet<String>) -> String {
        bearer(&self.realm, scopes, Some(BearerError::InsufficientScope))
    }
}

fn list(
    asked: &[(&Enforced, &BTreeSet<String>)],
    realm: &str,
    error: Option<BearerError>,
) -> String {
    let mut challenges: Vec<String> = Vec::new();
    for (scheme, scopes) in asked {
        let challenge = match &scheme.place {
            Place::Bearer => bearer(realm, scopes, error),
            Place::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
            Place::Header(name) => key(realm, "header", name),
            Place::Cookie(name) => key(realm, "cookie", name),
            Place::Query(name) => key(realm, "query", name),
            // Nor for certificates, which are asked for by TLS; and a 401 has to have one.
            Place::Certificate => format!("MutualTLS realm=\"{realm}\""),
        };
        if !challenges.contains(&challenge) {
            challenges.push(challenge);
        }
    }
    // What most clients understand stands in front.
    challenges.sort_by_key(|challenge| !challenge.starts_with("Bearer"));
    challenges.join(", ")
}

fn bearer(realm: &str, scopes: &BTreeSet<String>, error: Option<BearerError>) -> String {
    let mut challenge = format!("Bearer realm=\"{realm}\"");
    match error {
        None => {}
        Some(BearerError::InvalidToken) => challenge.push_str(", error=\"invalid_token\""),
        Some(BearerError::InsufficientScope) => {
            challenge.push_str(", error=\"insufficient_scope\"");
        }
    }
    if !scopes.is_empty() {
        let scopes: Vec<_> = scopes.iter().map(|scope| quoted(scope)).collect();
        challenge.push_str(&format!(", scope=\"{}\"", scopes.join(" ")));
    }
    challenge
}

// No standard names a challenge for keys; this is what servers that send one send.
fn key(realm: &str, place: &str, name: &str) -> String {
    format!("ApiKey realm=\"{realm}\", in=\"{place}\", name=\"{}\"", quoted(name))
}

/// A text that can stand between quotes in a header.
fn quoted(text: &str) -> String {
    let fits = |letter: &char| matches!(letter, ' '..='~') && !matches!(letter, '"' | '\\');
    text.chars().filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_card_can_not_break_out_of_a_challenge() {
        let name = "k\", Basic realm=\"x\r\nSet-Cookie: a=b\u{e4}";
        let challenge = key(&quoted("a\"b"), "header", name);
        assert_eq!(
            challenge,
            "ApiKey realm=\"ab\", in=\"header\", name=\"k, Basic realm=xSet-Cookie: a=b\""
        );
    }

    #[test]
    fn a_bearer_is_told_what_is_wrong_and_which_scopes_there_are() {
        let scopes = BTreeSet::from(["write".to_owned(), "read".to_owned()]);
        for (error, expected) in [
            (None, "Bearer realm=\"a2a\", scope=\"read write\""),
            (
                Some(BearerError::InsufficientScope),
                "Bearer realm=\"a2a\", error=\"insufficient_scope\", scope=\"read write\"",
            ),
        ] {
            assert_eq!(bearer("a2a", &scopes, error), expected);
        }
        let invalid = bearer("a2a", &BTreeSet::new(), Some(BearerError::InvalidToken));
        assert_eq!(invalid, "Bearer realm=\"a2a\", error=\"invalid_token\"");
    }
}
