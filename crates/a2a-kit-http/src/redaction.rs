//! Redaction of secrets in what is printed, logged and recorded: the names of secrets, and the forms
//! in which they appear.

use std::{borrow::Cow, ops::Range};

use a2a_core::v1::TaskPushNotificationConfig;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderName, HeaderValue};

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// Parts of the names of headers, parameters and JSON members whose values are secrets.
const SECRET_NAMES: [&str; 7] =
    ["auth", "cookie", "credential", "key", "password", "secret", "token"];

/// Names with such a part whose values are no secrets, without separators.
const PUBLIC_NAMES: [&str; 7] = [
    "author",
    "authors",
    "idempotencykey",
    "nextpagetoken",
    "pagetoken",
    "proxyauthenticate",
    "wwwauthenticate",
];

/// Returns whether a name indicates that its value is a secret, in any case and with any separators.
pub fn is_secret(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    !PUBLIC_NAMES.contains(&&*name) && SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Returns the value of a header, redacted if it is sensitive or its name indicates a secret.
pub fn header<'a>(name: &HeaderName, value: &'a HeaderValue) -> Cow<'a, str> {
    if value.is_sensitive() || is_secret(name.as_str()) {
        REDACTED.into()
    } else {
        String::from_utf8_lossy(value.as_bytes())
    }
}

/// Redacts secrets in a text, whichever stands first.
pub fn redact<'a, S: AsRef<str>>(
    text: Cow<'a, str>,
    secrets: impl IntoIterator<Item = S>,
) -> Cow<'a, str> {
    secrets.into_iter().fold(text, |text, secret| match secret.as_ref() {
        secret if text.contains(secret) => text.replace(secret, REDACTED).into(),
        _ => text,
    })
}

/// Redacts the user and the password of a URL, its query and its fragment, which may contain secrets
/// of webhooks and files.
pub fn redact_url(url: &str) -> Cow<'_, str> {
    let end = url.find(['?', '#']).map_or(url.len(), |mark| mark + 1);
    let query = if end < url.len() { REDACTED } else { "" };
    match user_of_url(url) {
        Some(user) => {
            format!("{}{REDACTED}{}{query}", &url[..user.start], &url[user.end..end]).into()
        }
        None if query.is_empty() => url.into(),
        None => format!("{}{query}", &url[..end]).into(),
    }
}

/// Returns the user and the password of a URL, as a range of its text.
pub fn user_of_url(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + 3;
    let authority = url[start..].split(['/', '?', '#']).next()?;
    let user = authority.rfind('@').filter(|at| *at > 0)?;
    Some(start..start + user)
}

/// Redacts the token and the credentials of a webhook.
pub fn redact_webhook(webhook: &mut TaskPushNotificationConfig) {
    let credentials = webhook.authentication.iter_mut().map(|info| &mut info.credentials);
    for secret in credentials.chain([&mut webhook.token]).filter(|secret| !secret.is_empty()) {
        REDACTED.clone_into(secret);
    }
}

/// A secret as it appears in JSON, in a form or a query, percent-encoded (RFC 3986 §2.3) and in a
/// header.
pub fn forms(secret: &str) -> [String; 4] {
    let json = serde_json::Value::from(secret).to_string();
    let form = form_encoded(secret);
    let percent = form.replace('+', "%20").replace('*', "%2A").replace("%7E", "~");
    [json[1..json.len() - 1].to_owned(), form, percent, secret.to_owned()]
}

/// The id and the secret of a client as the credentials of the scheme Basic: as they are, and encoded
/// before (RFC 6749 §2.3.1).
pub fn basic_forms(id: &str, secret: &str) -> [String; 2] {
    let encoded = format!("{}:{}", form_encoded(id), form_encoded(secret));
    [format!("{id}:{secret}"), encoded].map(|pair| BASE64_STANDARD.encode(pair))
}

fn form_encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_every_spelling() {
        for (name, expected) in [
            ("Authorization", true),
            ("Proxy-Authorization", true),
            ("set-cookie", true),
            ("x-api-key", true),
            ("APIKEY", true),
            ("a2a-shop-token", true),
            ("client_secret", true),
            ("clientSecret", true),
            ("credentials", true),
            ("x-auth", true),
            ("Password", true),
            ("pageToken", false),
            ("next_page_token", false),
            ("WWW-Authenticate", false),
            ("Idempotency-Key", false),
            ("author", false),
            ("traceparent", false),
            ("text", false),
        ] {
            assert_eq!(is_secret(name), expected, "{name}");
        }
    }

    #[test]
    fn url_is_shown_without_user_query_and_fragment() {
        for (url, shown) in [
            ("https://a.example/b", "https://a.example/b"),
            ("https://a.example/b?token=c", "https://a.example/b?[redacted]"),
            ("https://a.example/b#token", "https://a.example/b#[redacted]"),
            ("https://a.example/b?", "https://a.example/b?"),
            ("https://ann:pw@a.example/b@c", "https://[redacted]@a.example/b@c"),
            ("https://ann@a.example?b=c", "https://[redacted]@a.example?[redacted]"),
            ("https://@a.example", "https://@a.example"),
            ("a.example", "a.example"),
        ] {
            assert_eq!(redact_url(url), shown);
        }
    }

    #[test]
    fn sensitive_headers_and_those_with_the_names_of_secrets_are_redacted() {
        let mut value = HeaderValue::from_static("v");
        assert_eq!(header(&HeaderName::from_static("x-tag"), &value), "v");
        assert_eq!(header(&HeaderName::from_static("authorization"), &value), REDACTED);
        value.set_sensitive(true);
        assert_eq!(header(&HeaderName::from_static("x-tag"), &value), REDACTED);
    }

    #[test]
    fn secrets_are_redacted_in_every_form() {
        let redacted = |text: &'static str| redact(text.into(), forms("to/k\"en"));
        for (text, shown) in [
            ("Bearer to/k\"en", "Bearer [redacted]"),
            (r#"{"a":"to/k\"en"}"#, r#"{"a":"[redacted]"}"#),
            ("?t=to%2Fk%22en&b", "?t=[redacted]&b"),
            ("token", "token"),
        ] {
            assert_eq!(redacted(text), shown);
        }
        assert_eq!(basic_forms("a b", "c"), ["YSBiOmM=", "YStiOmM="]);
    }
}
