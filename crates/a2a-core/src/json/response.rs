//! Reading what agents send: responses, events, cards and webhook deliveries. What is wrong in a
//! harmless way is repaired or read as what it means; requests are read strictly
//! ([`from_slice`](super::from_slice)).

use std::{borrow::Cow, cell::Cell};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::read;
use crate::{Error, ErrorKind};

/// Maximum length of quoted input, in characters.
const MAX_QUOTE: usize = 80;

thread_local! {
    /// Whether the JSON that this thread reads is a response. Deserializers have no other context.
    static IS_RESPONSE: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the JSON that this thread is reading is a response, for deserializers of members
/// that responses and requests share.
pub fn is_response() -> bool {
    IS_RESPONSE.get()
}

/// Calls a function that reads a response.
fn as_response<T>(read: impl FnOnce() -> T) -> T {
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            IS_RESPONSE.set(self.0);
        }
    }

    let _restore = Restore(IS_RESPONSE.replace(true));
    read()
}

/// Reads a response of an agent, or another document of it.
///
/// Repairs the text as [`response_text`] does. Reads the names of task states and roles of any
/// revision in any spelling, such as `completed`, `input-required` or `TASK_STATE_CANCELLED`, an
/// unknown role as that of the agent, and line breaks in Base64.
///
/// # Errors
///
/// [`ErrorKind::InvalidAgentResponse`] with the beginning of the text for malformed JSON, and with
/// the path of the invalid member, such as a task state of an unknown name.
pub fn response_from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    response_from_str(&response_text(json))
}

/// Reads a response of an agent from a text that [`response_text`] has returned.
///
/// # Errors
///
/// As [`response_from_slice`].
pub fn response_from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    as_response(|| read::from_text(text)).map_err(|error| unreadable(text, error))
}

/// Reads a response of an agent from JSON that has been parsed, as [`response_from_slice`] does.
///
/// # Errors
///
/// [`ErrorKind::InvalidParams`] with the path of the invalid member.
pub fn response_from_value<T: DeserializeOwned>(json: &Value) -> Result<T, Error> {
    as_response(|| read::from_value(json))
}

/// Decodes the text of a response. Drops a byte order mark (RFC 8259 §8.1), and replaces bytes
/// that are not UTF-8, and escaped surrogates without their pair, by U+FFFD.
pub fn response_text(json: &[u8]) -> Cow<'_, str> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let text = String::from_utf8_lossy(json);
    if matches!(text, Cow::Owned(_)) {
        tracing::debug!("response is not UTF-8: invalid bytes replaced");
    }
    match without_lone_surrogates(&text) {
        None => text,
        Some(repaired) => {
            tracing::debug!("response has lone surrogates: replaced");
            Cow::Owned(repaired)
        }
    }
}

/// Replaces escaped surrogates without their pair; `None` if there are none.
fn without_lone_surrogates(text: &str) -> Option<String> {
    /// The code unit of an escape `\uXXXX` at the beginning of a text.
    fn escape(text: &str) -> Option<u16> {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    }

    const ESCAPE: usize = "\\uXXXX".len();
    let mut repaired: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        at += match (escape(&text[at..]), text.get(at + ESCAPE..).and_then(escape)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 2 * ESCAPE,
            (Some(0xd800..=0xdfff), _) => {
                let repaired = repaired.get_or_insert_default();
                repaired.push_str(&text[copied..at]);
                repaired.push('\u{fffd}');
                copied = at + ESCAPE;
                ESCAPE
            }
            (Some(_), _) => ESCAPE,
            // The escaped character may be a backslash; after it, if it is not ASCII, none follows.
            (None, _) => match text.as_bytes().get(at + 1) {
                Some(byte) if byte.is_ascii() => 2,
                _ => 1,
            },
        };
    }
    let mut repaired = repaired?;
    repaired.push_str(&text[copied..]);
    Some(repaired)
}

#[cold]
fn unreadable(text: &str, error: Error) -> Error {
    let message = match error.kind() {
        ErrorKind::ParseError if text.trim().is_empty() => "the response is empty".to_owned(),
        ErrorKind::ParseError => format!("the response is not JSON: {}", quote(text)),
        _ => format!("failed to read the response: {}", error.message()),
    };
    Error::new(ErrorKind::InvalidAgentResponse, message).with_source(error)
}

/// Quotes the beginning of a text, with controls escaped: at most 80 characters.
pub fn quote(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    #[test]
    fn text_of_a_response_is_repaired() {
        for (json, expected) in [
            (&b"\xef\xbb\xbf{}"[..], "{}"),
            (b"\"a\xffb\"", "\"a\u{fffd}b\""),
            (br#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (br#""\ud83d""#, "\"\u{fffd}\""),
            (br#""\uDE00\ud83d\ud83d\ude00x""#, "\"\u{fffd}\u{fffd}\\ud83d\\ude00x\""),
            (br#""\\ud83d \n\u00e4""#, r#""\\ud83d \n\u00e4""#),
            (b"\"\\", "\"\\"),
            ("\"\\\u{e4}\\ud83d".as_bytes(), "\"\\\u{e4}\u{fffd}"),
        ] {
            assert_eq!(response_text(json), expected, "{json:?}");
        }
    }

    #[test]
    fn malformed_response_is_quoted() {
        let error = response_from_slice::<IgnoredAny>(b"<html>\n\x1b[2J").unwrap_err();
        assert_eq!(error.message(), r#"the response is not JSON: "<html>\n\u{1b}[2J""#);
        let long = "x".repeat(100);
        assert_eq!(quote(&long).chars().count(), MAX_QUOTE + 3);
        assert_eq!(
            response_from_slice::<IgnoredAny>(b" ").unwrap_err().message(),
            "the response is empty"
        );
    }
}
