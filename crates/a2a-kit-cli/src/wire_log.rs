//! `--debug`: the messages of a command on the wire, on stderr, with secrets redacted.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt::{self, Write as _},
    sync::{Mutex, PoisonError},
};

use a2a_kit_http::{
    client::{WireObserver, WirePart},
    redaction::{self, REDACTED, is_secret, redact_url},
};
use http::{HeaderName, HeaderValue};
use url::{Url, form_urlencoded};

use crate::{
    output::{Output, escaped},
    redaction::Redaction,
    settings::Settings,
};

/// Prints the messages of a command.
pub(crate) struct WireLog {
    output: Output,
    redaction: Redaction,
    /// Incomplete lines, by exchange.
    pending: Mutex<HashMap<u64, Vec<u8>>>,
}

impl WireLog {
    /// Creates a log that redacts the secrets of these settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let output = settings.output;
        Self { output, redaction: settings.redaction.clone(), pending: Mutex::default() }
    }

    fn line(&self, exchange: u64, mark: char, line: &str) {
        let line = self.redacted(line);
        let space = if line.is_empty() { "" } else { " " };
        self.output.diagnostic(&format!("[{exchange}] {mark}{space}{}", escaped(&line)));
    }

    fn lines(&self, exchange: u64, mark: char, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        text.lines().for_each(|line| self.line(exchange, mark, line));
    }

    fn headers<'a>(
        &self,
        exchange: u64,
        mark: char,
        headers: impl IntoIterator<Item = (&'a HeaderName, &'a HeaderValue)>,
    ) {
        for (name, value) in headers {
            let shown = redaction::header(name, value);
            self.line(exchange, mark, &format!("{name}: {shown}"));
        }
        self.line(exchange, mark, "");
    }

    /// Prints the complete lines of a response, and keeps the rest.
    fn piece(&self, exchange: u64, piece: &[u8]) {
        let mut all = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = all.entry(exchange).or_default();
        pending.extend_from_slice(piece);
        let Some(end) = memchr::memrchr(b'\n', pending) else { return };
        let rest = pending.split_off(end + 1);
        let whole = std::mem::replace(pending, rest);
        drop(all);
        self.lines(exchange, '<', &whole);
    }

    fn end(&self, exchange: u64) {
        let rest = self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&exchange);
        self.lines(exchange, '<', &rest.unwrap_or_default());
    }

    /// Redacts the secrets of this run, and those in JSON members.
    fn redacted<'a>(&self, line: &'a str) -> Cow<'a, str> {
        self.redaction.apply(redact_members(line))
    }
}

impl WireObserver for WireLog {
    fn observe(&self, exchange: u64, part: WirePart<'_>) {
        match part {
            WirePart::Request { method, url, headers } => {
                self.line(exchange, '>', &format!("{method} {}", redact_query(url)));
                self.headers(exchange, '>', headers);
            }
            WirePart::RequestBody(body) => self.lines(exchange, '>', body),
            WirePart::Response { status, headers } => {
                self.line(exchange, '<', &status.to_string());
                self.headers(exchange, '<', headers);
            }
            WirePart::ResponseBody(piece) => self.piece(exchange, piece),
            WirePart::End => self.end(exchange),
            WirePart::Failed(reason) => {
                self.end(exchange);
                self.line(exchange, '!', reason);
            }
            // Parts of later releases.
            _ => {}
        }
    }
}

impl fmt::Debug for WireLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest are secrets.
        f.debug_struct("WireLog").finish_non_exhaustive()
    }
}

/// Redacts the secrets in the query of a URL.
fn redact_query(url: &str) -> Cow<'_, str> {
    let Some((start, _)) = url.split_once('?') else { return url.into() };
    let Ok(parsed) = Url::parse(url) else { return format!("{start}?{REDACTED}").into() };
    let mut redacted = format!("{start}?");
    for (index, (name, value)) in parsed.query_pairs().enumerate() {
        let separator = if index == 0 { "" } else { "&" };
        let value = if is_secret(&name) {
            REDACTED.into()
        } else {
            form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>()
        };
        let _infallible = write!(redacted, "{separator}{name}={value}");
    }
    redacted.into()
}

/// Redacts the values of JSON members that are secrets, and the users and queries of URLs, which may
/// contain secrets of webhooks and files.
fn redact_members(text: &str) -> Cow<'_, str> {
    let mut redacted = String::new();
    let mut rest = text;
    while let Some((name, value)) = next_member(rest) {
        redacted.push_str(&rest[..value.start]);
        let (name, shown) = (&rest[name], &rest[value.clone()]);
        if is_secret(name) {
            redacted.push_str(if shown.is_empty() { "" } else { REDACTED });
        } else if name.eq_ignore_ascii_case("url") {
            redacted.push_str(&redact_url(shown));
        } else {
            redacted.push_str(shown);
        }
        // The closing quote does not begin a name.
        redacted.push('"');
        rest = &rest[value.end + 1..];
    }
    if redacted.is_empty() { text.into() } else { (redacted + rest).into() }
}

/// The next member with a string value: its name and its value, without quotes.
fn next_member(text: &str) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut from = 0;
    loop {
        let name = string(text, from)?;
        from = name.end + 1;
        let behind = text[from..].trim_start();
        let Some(value) = behind.strip_prefix(':').map(str::trim_start) else { continue };
        let start = text.len() - value.len();
        if !value.starts_with('"') {
            from = start;
            continue;
        }
        let value = string(text, start)?;
        return Some((name, value));
    }
}

/// The next JSON string from an offset on, without quotes; `None` if it is incomplete.
fn string(text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let start = from + text[from..].find('"')? + 1;
    let mut is_escaped = false;
    for (index, byte) in text.as_bytes().iter().enumerate().skip(start) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(start..index),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secret_members_are_redacted() {
        for (text, shown) in [
            (r#"{"token":"abc","id":"1"}"#, r#"{"token":"[redacted]","id":"1"}"#),
            (
                r#"data: {"authentication" : {"scheme": "Bearer", "credentials" : "a\"b" }}"#,
                r#"data: {"authentication" : {"scheme": "Bearer", "credentials" : "[redacted]" }}"#,
            ),
            (
                r#"{"clientSecret":"s","client_secret":"s"}"#,
                r#"{"clientSecret":"[redacted]","client_secret":"[redacted]"}"#,
            ),
            (r#"{"pageToken":"p","nextPageToken":""}"#, r#"{"pageToken":"p","nextPageToken":""}"#),
            (
                r#"{"url":"https://a.example/b?token=c","uri":"x?y"}"#,
                r#"{"url":"https://a.example/b?[redacted]","uri":"x?y"}"#,
            ),
            (
                r#"{"url":"https://ann:pw@a.example/b@c"}"#,
                r#"{"url":"https://[redacted]@a.example/b@c"}"#,
            ),
            (r#"{"text":"my \"token\":\"x\" is"}"#, r#"{"text":"my \"token\":\"x\" is"}"#),
            ("event: message", "event: message"),
            (r#"{"token":"#, r#"{"token":"#),
        ] {
            assert_eq!(redact_members(text), shown, "{text}");
        }
    }

    #[test]
    fn only_secret_query_parameters_are_redacted() {
        for (url, shown) in [
            ("http://a/b", "http://a/b"),
            ("http://a/tasks?pageSize=2&pageToken=x", "http://a/tasks?pageSize=2&pageToken=x"),
            ("http://a/b?api_key=x&key=y", "http://a/b?api_key=[redacted]&key=[redacted]"),
            ("a?b", "a?[redacted]"),
        ] {
            assert_eq!(redact_query(url), shown, "{url}");
        }
    }
}
