//! Redaction of secrets in diagnostics.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

pub(crate) use a2a_kit_http::redaction::basic_forms;
use a2a_kit_http::redaction::{forms, redact, user_of_url};
use serde_json::Value;

/// Tokens are replaced when they are refreshed; the oldest are forgotten.
const MAX_TOKENS: usize = 16;
/// Shorter values of service parameters, and shorter passwords on their own, are not redacted: they
/// would match unrelated text.
pub(crate) const SHORTEST_SECRET: usize = 4;

/// The secrets of a run, which no diagnostic shows: those of its settings, and the tokens that it read
/// or obtained later. Clones share the tokens.
#[derive(Clone, Default)]
pub(crate) struct Redaction {
    /// The secrets of the settings, in every form.
    secrets: Vec<String>,
    tokens: Arc<Mutex<VecDeque<String>>>,
}

impl Redaction {
    /// Redacts the secrets of settings in every form.
    pub(crate) fn new(secrets: impl Iterator<Item = String>) -> Self {
        let secrets = secrets.filter(|one| !one.is_empty());
        let mut secrets: Vec<_> = secrets.flat_map(|secret| forms(&secret)).collect();
        // Longest first, as one may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets, ..Self::default() }
    }

    /// Adds a token, which no diagnostic shows from now on.
    pub(crate) fn add(&self, token: &str) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_empty() || tokens.iter().any(|known| known == token) {
            return;
        }
        tokens.push_back(token.to_owned());
        if tokens.len() > MAX_TOKENS {
            tokens.pop_front();
        }
    }

    /// Adds the secrets of a webhook: the user in its URL, its token and its credentials.
    pub(crate) fn add_webhook(&self, url: Option<&str>, more: [Option<&str>; 2]) {
        let user = url.and_then(|url| Some(&url[user_of_url(url)?]));
        let password = user.and_then(|user| Some(user.split_once(':')?.1));
        let secrets = [user, password].into_iter().chain(more).flatten();
        secrets.filter(|one| one.len() >= SHORTEST_SECRET).for_each(|one| self.add(one));
    }

    /// Redacts the secrets in a text.
    pub(crate) fn apply<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        redact(redact(text, &self.secrets), tokens.iter().flat_map(|token| forms(token)))
    }

    /// Redacts the secrets in the strings of a JSON value.
    pub(crate) fn apply_to(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.apply(Cow::Borrowed(text)).into_owned(),
            Value::Array(all) => all.iter_mut().for_each(|one| self.apply_to(one)),
            Value::Object(members) => members.values_mut().for_each(|one| self.apply_to(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redaction(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_redacted_in_every_form() {
        let redaction = Redaction::default();
        redaction.add("to/ken");
        redaction.add("");
        assert_eq!(redaction.apply("to/ken to%2Fken".into()), "[redacted] [redacted]");
        assert_eq!(format!("{redaction:?}"), "Redaction(..)");
    }

    #[test]
    fn oldest_token_is_forgotten() {
        let redaction = Redaction::default();
        for number in 0..=MAX_TOKENS {
            redaction.add(&format!("token-{number}."));
        }
        assert_eq!(redaction.apply("token-0. token-1.".into()), "token-0. [redacted]");
    }
}
