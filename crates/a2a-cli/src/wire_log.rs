//! `--debug`: every message of a command as it is on the wire, on stderr, without secrets.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt::{self, Write as _},
    sync::{Mutex, PoisonError},
};

use a2a_http::client::{WireObserver, WirePart};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue};
use url::{Url, form_urlencoded};

use crate::{
    output::{Output, escaped},
    settings::Settings,
};

/// What stands in place of a secret.
const REDACTED: &str = "[redacted]";
/// Shorter values of service parameters are no secrets, and would blot out unrelated text.
const SHORTEST_SECRET: usize = 4;
/// What the names of headers, parameters and members of JSON have in them whose value is a secret.
const TELLING: &[&str] =
    &["authorization", "cookie", "token", "secret", "password", "credential", "api-key", "apikey"];
/// Names that would count as telling, and are not.
const HARMLESS: &[&str] = &["pagetoken", "nextpagetoken", "securityrequirements"];

/// Prints every message of a command as it is on the wire.
pub(crate) struct WireLog {
    output: Output,
    secrets: Vec<String>,
    /// The starts of lines whose ends have not come yet, by exchange.
    pending: Mutex<HashMap<u64, Vec<u8>>>,
}

impl WireLog {
    /// Prints what a command with these settings sends and receives.
    pub(crate) fn new(settings: &Settings, output: Output) -> Self {
        let credentials = [&settings.bearer, &settings.api_key, &settings.basic];
        let credentials = credentials.into_iter().flatten().cloned();
        let basic = settings.basic.iter().map(|pair| STANDARD.encode(pair));
        let parameters = settings.service_parameters.iter().map(|(_, value)| value.clone());
        let parameters = parameters.filter(|value| value.len() >= SHORTEST_SECRET);
        let mut secrets = Vec::new();
        for secret in credentials.chain(basic).chain(parameters).filter(|one| !one.is_empty()) {
            let json = serde_json::Value::from(secret.as_str()).to_string();
            secrets.push(json.trim_matches('"').to_owned());
            secrets.push(form_urlencoded::byte_serialize(secret.as_bytes()).collect());
            secrets.push(secret);
        }
        // The longest first: one may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { output, secrets, pending: Mutex::default() }
    }

    fn line(&self, exchange: u64, mark: char, line: &str) {
        let line = self.masked(line);
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
            let shown = if value.is_sensitive() || is_telling(name.as_str()) {
                REDACTED.into()
            } else {
                String::from_utf8_lossy(value.as_bytes())
            };
            self.line(exchange, mark, &format!("{name}: {shown}"));
        }
        self.line(exchange, mark, "");
    }

    /// Prints the lines of an answer that are whole, and keeps the start of the next one.
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

    /// A line without secrets: neither those of this run, nor those that members of JSON name.
    fn masked<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let mut line = mask_members(line);
        for secret in &self.secrets {
            if line.contains(secret.as_str()) {
                line = line.replace(secret.as_str(), REDACTED).into();
            }
        }
        line
    }
}

impl WireObserver for WireLog {
    fn observe(&self, exchange: u64, part: WirePart<'_>) {
        match part {
            WirePart::Request { method, url, headers } => {
                self.line(exchange, '>', &format!("{method} {}", mask_query(url)));
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
            // What later releases show besides.
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

/// Whether a name says that what it names is a secret.
fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let bare = name.replace('-', "");
    !HARMLESS.contains(&bare.as_str())
        && TELLING.iter().any(|one| name.contains(one) || bare.contains(one))
}

/// An address without the values of its query that are secrets.
fn mask_query(url: &str) -> Cow<'_, str> {
    let Some((start, _)) = url.split_once('?') else { return url.into() };
    let Ok(parsed) = Url::parse(url) else { return format!("{start}?{REDACTED}").into() };
    let mut masked = format!("{start}?");
    for (index, (name, value)) in parsed.query_pairs().enumerate() {
        let separator = if index == 0 { "" } else { "&" };
        let value = if is_telling(&name) || name.eq_ignore_ascii_case("key") {
            REDACTED.into()
        } else {
            form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>()
        };
        let _infallible = write!(masked, "{separator}{name}={value}");
    }
    masked.into()
}

/// A text without the values of members of JSON that are secrets, and without the queries of
/// addresses, where secrets of webhooks and files are.
fn mask_members(text: &str) -> Cow<'_, str> {
    let mut masked = String::new();
    let mut rest = text;
    while let Some((name, value)) = next_member(rest) {
        let shown = match name {
            _ if is_telling(&rest[name.clone()]) => "",
            _ if rest[name.clone()].eq_ignore_ascii_case("url") => {
                match rest[value.clone()].split_once('?') {
                    Some((address, _)) => &rest[value.start..=value.start + address.len()],
                    None => &rest[value.clone()],
                }
            }
            _ => &rest[value.clone()],
        };
        masked.push_str(&rest[..value.start]);
        masked.push_str(shown);
        if shown.len() < value.len() {
            masked.push_str(REDACTED);
        }
        // With the quote behind it, which begins no name.
        masked.push('"');
        rest = &rest[value.end + 1..];
    }
    if masked.is_empty() { text.into() } else { (masked + rest).into() }
}

/// The next name in a text that has a string for a value, and that string, without their quotes.
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

/// The next string of JSON from a place on, without its quotes. One that does not end goes to the
/// end of the text.
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
    fn members_that_are_secrets_are_masked_and_others_are_left() {
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
            (r#"{"text":"my \"token\":\"x\" is"}"#, r#"{"text":"my \"token\":\"x\" is"}"#),
            ("event: message", "event: message"),
            (r#"{"token":"#, r#"{"token":"#),
        ] {
            assert_eq!(mask_members(text), shown, "{text}");
        }
    }

    #[test]
    fn queries_show_what_is_no_secret() {
        for (url, shown) in [
            ("http://a/b", "http://a/b"),
            ("http://a/tasks?pageSize=2&pageToken=x", "http://a/tasks?pageSize=2&pageToken=x"),
            ("http://a/b?api_key=x&key=y", "http://a/b?api_key=[redacted]&key=[redacted]"),
            ("a?b", "a?[redacted]"),
        ] {
            assert_eq!(mask_query(url), shown, "{url}");
        }
    }
}
