//! Escaping of log lines, whose fields may come from peers.

use std::{borrow::Cow, fmt};

use tracing::{Event, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// A format of which each event is one line that controls no terminal.
#[derive(Clone, Debug)]
pub(crate) struct OneLine<F>(pub(crate) F);

impl<S, N, F> FormatEvent<S, N> for OneLine<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writeln!(writer, "{}", escape(line.strip_suffix('\n').unwrap_or(&line)))
    }
}

/// Escapes line breaks and what a terminal executes, or shows in another order: C0, DEL and C1, the
/// controls of the writing direction, U+2028 and U+2029. A JSON document stays the same document, as
/// these are only allowed in its strings.
pub(crate) fn escape(line: &str) -> Cow<'_, str> {
    if !line.contains(is_control) {
        return line.into();
    }
    let mut shown = String::with_capacity(line.len() + 32);
    for c in line.chars() {
        // All of them are of the basic multilingual plane.
        match is_control(c) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    shown.into()
}

fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped_and_json_stays_the_same_document() {
        assert_eq!(escape("a\tb\r\n\u{1b}[2J"), "a\\u0009b\\u000d\\u000a\\u001b[2J");
        assert!(matches!(escape("plain שלום \u{200d}"), Cow::Borrowed(_)));
        let value = serde_json::json!({"a\u{9b}": ["\u{202e}\u{2028}\u{2066}\u{61c}\u{200f}\n"]});
        let json = value.to_string();
        let escaped = escape(&json);
        assert!(!escaped.contains(is_control), "{escaped:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
