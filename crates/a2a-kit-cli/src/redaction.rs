//! Redaction of secrets in diagnostics.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use url::form_urlencoded;

/// Replaces a secret.
pub(crate) const REDACTED: &str = "[redacted]";
/// Tokens are replaced when they are refreshed; the oldest are forgotten.
const MAX_TOKENS: usize = 8;

/// The tokens that a run obtained from the token store. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct TokenRedaction(Arc<Mutex<VecDeque<String>>>);

impl TokenRedaction {
    /// Adds a token, which no diagnostic shows from now on.
    pub(crate) fn add(&self, token: &str) {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if token.is_empty() || tokens.iter().any(|known| known == token) {
            return;
        }
        tokens.push_back(token.to_owned());
        if tokens.len() > MAX_TOKENS {
            tokens.pop_front();
        }
    }

    /// Redacts the tokens in a text.
    pub(crate) fn apply<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().fold(text, |text, token| {
            let forms = forms(token);
            forms.iter().fold(text, |text, form| redact(text, form))
        })
    }
}

impl fmt::Debug for TokenRedaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenRedaction(..)")
    }
}

/// Returns a secret as it appears in JSON, in a query and in a header.
pub(crate) fn forms(secret: &str) -> [String; 3] {
    let json = serde_json::Value::from(secret).to_string();
    [
        json.trim_matches('"').to_owned(),
        form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        secret.to_owned(),
    ]
}

/// Replaces a secret in a text.
pub(crate) fn redact<'a>(text: Cow<'a, str>, secret: &str) -> Cow<'a, str> {
    if text.contains(secret) { text.replace(secret, REDACTED).into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_redacted_in_every_form() {
        let redaction = TokenRedaction::default();
        redaction.add("to/k\"en");
        redaction.add("");
        for (text, shown) in [
            ("Bearer to/k\"en", "Bearer [redacted]"),
            (r#"{"a":"to/k\"en"}"#, r#"{"a":"[redacted]"}"#),
            ("?t=to%2Fk%22en&b", "?t=[redacted]&b"),
            ("token", "token"),
        ] {
            assert_eq!(redaction.apply(text.into()), shown);
        }
        assert_eq!(format!("{redaction:?}"), "TokenRedaction(..)");
    }

    #[test]
    fn oldest_token_is_forgotten() {
        let redaction = TokenRedaction::default();
        for number in 0..=MAX_TOKENS {
            redaction.add(&format!("token-{number}."));
        }
        assert_eq!(redaction.apply("token-0. token-1.".into()), "token-0. [redacted]");
    }
}
