//! Exchanges as text: the proof of a finding, bounded and without secrets.

use a2a_kit_http::redaction::{self, redact};
use a2a_kit_lint::Transcript;
use http::HeaderMap;

use crate::exchange::Exchange;

/// The most of a request or response that is kept, in bytes.
const MAX_BYTES: usize = 4 << 10;

/// Writes an exchange, with `[redacted]` in place of secrets.
pub(crate) fn of(exchange: &Exchange, secrets: &[String]) -> Transcript {
    let request = &exchange.request;
    let mut sent = format!("{}\n{}", request.line, headers(&request.headers));
    if request.body.is_empty() && !exchange.params.is_null() && request.line.starts_with("gRPC") {
        sent.push_str(&format!("\n{}", exchange.params));
    } else if !request.body.is_empty() {
        sent.push_str(&format!("\n{}", String::from_utf8_lossy(&request.body)));
    }
    let response = &exchange.response;
    let mut received = if response.status == 0 {
        format!("no response: {}", exchange.summary())
    } else {
        format!("HTTP {}\n{}", response.status, headers(&response.headers))
    };
    if !response.body.is_empty() {
        received.push_str(&format!("\n{}", String::from_utf8_lossy(&response.body)));
    }
    if !response.trailers.is_empty() {
        received.push_str(&format!("\ntrailers:\n{}", headers(&response.trailers)));
    }
    Transcript {
        request: bounded(redact(sent.into(), secrets).into_owned()),
        response: bounded(redact(received.into(), secrets).into_owned()),
    }
}

fn headers(headers: &HeaderMap) -> String {
    let mut text = String::new();
    for (name, value) in headers {
        let value = redaction::header(name, value);
        text.push_str(&format!("{name}: {value}\n"));
    }
    text
}

/// Cuts a text at a character boundary, and says how much is missing.
fn bounded(mut text: String) -> String {
    while text.ends_with(['\n', '\r']) {
        text.pop();
    }
    if text.len() <= MAX_BYTES {
        return text;
    }
    let mut end = MAX_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let rest = text.len() - end;
    text.truncate(end);
    text.push_str(&format!("… ({rest} more bytes)"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = bounded("é".repeat(MAX_BYTES));
        assert!(text.ends_with("… (4096 more bytes)"), "{}", &text[text.len() - 40..]);
    }

    #[test]
    fn secrets_are_replaced_everywhere() {
        assert_eq!(redact("a s3cret b".into(), ["s3cret"]), "a [redacted] b");
        let mut map = HeaderMap::new();
        map.insert("authorization", "Bearer x".parse().unwrap());
        assert_eq!(headers(&map), "authorization: [redacted]\n");
    }
}
