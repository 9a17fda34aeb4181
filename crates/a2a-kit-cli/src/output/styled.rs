//! Text output on a terminal: aligned, in color, and with times relative to now. Labels and values
//! are those of the plain form.

use a2a_core::well_known::Timestamp;

use super::{
    markdown,
    style::{self, paint},
    terminal::Stream,
    text::{Entry, Text, Value},
    text_flow::push_block,
};

impl Text {
    /// The text in pipes and files.
    pub(crate) fn plain(&self) -> String {
        styled(self, Stream::default(), false)
    }
}

/// Formats text for `stream`, and Markdown too if it is rendered.
pub(super) fn styled(text: &Text, stream: Stream, renders: bool) -> String {
    let mut styled = String::new();
    let mut entries = text.entries();
    while let Some((entry, rest)) = entries.split_first() {
        match entry {
            Entry::Line(..) => {
                let count = entries.iter().take_while(|entry| is_line(entry)).count();
                let (lines, rest) = entries.split_at(count);
                push_lines(&mut styled, lines, stream);
                entries = rest;
                continue;
            }
            Entry::Markdown(label, content) if renders && stream.is_terminal => {
                push_label(&mut styled, label, stream);
                styled.push('\n');
                styled.push_str(&markdown::render(content, stream.has_colors));
                styled.push('\n');
            }
            Entry::Block(label, content) | Entry::Markdown(label, content) => {
                push_label(&mut styled, label, stream);
                styled.push('\n');
                push_block(&mut styled, content);
            }
            Entry::Label(label) => {
                push_label(&mut styled, label, stream);
                styled.push('\n');
            }
            Entry::Shown(shown) => styled.push_str(shown),
            Entry::Empty => styled.push('\n'),
        }
        entries = rest;
    }
    styled
}

fn is_line(entry: &Entry) -> bool {
    matches!(entry, Entry::Line(..))
}

/// Writes consecutive lines, on a terminal with their values in one column.
fn push_lines(to: &mut String, lines: &[Entry], stream: Stream) {
    let length = |entry: &Entry| match entry {
        Entry::Line(label, _) => label.chars().count(),
        _ => 0,
    };
    let width = lines.iter().map(length).max().filter(|_| stream.is_terminal).unwrap_or(0);
    for line in lines {
        let Entry::Line(label, value) = line else { continue };
        push_label(to, label, stream);
        let padding = width.saturating_sub(length(line)) + 1;
        to.extend(std::iter::repeat_n(' ', padding));
        push_value(to, value, stream);
        to.push('\n');
    }
}

fn push_label(to: &mut String, label: &str, stream: Stream) {
    paint(to, style::LABEL, &format!("{label}:"), stream.has_colors);
}

fn push_value(to: &mut String, value: &Value, stream: Stream) {
    let plain = value.plain();
    match value {
        Value::State(state) => paint(to, style::of_state(*state), &plain, stream.has_colors),
        Value::Time(time) if stream.is_terminal => {
            to.push_str(&plain);
            let relative = format!(" ({})", relative(*time, Timestamp::now()));
            paint(to, style::NOTE, &relative, stream.has_colors);
        }
        Value::Plain(_) | Value::Time(_) => to.push_str(&plain),
    }
}

/// Describes a time relative to `now`: `3 minutes ago`, `in 2 hours`, `just now`.
fn relative(time: Timestamp, now: Timestamp) -> String {
    const UNITS: [(u64, &str); 5] = [
        (365 * 86_400, "year"),
        (30 * 86_400, "month"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
    ];
    let millis = now.as_millis().saturating_sub(time.as_millis());
    let seconds = millis.unsigned_abs() / 1_000;
    if seconds < 1 {
        return "just now".to_owned();
    }
    let (count, unit) = UNITS
        .iter()
        .find(|(length, _)| seconds >= *length)
        .map_or((seconds, "second"), |(length, unit)| (seconds / length, *unit));
    let plural = if count == 1 { "" } else { "s" };
    if millis < 0 {
        format!("in {count} {unit}{plural}")
    } else {
        format!("{count} {unit}{plural} ago")
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::TaskState;

    use super::*;

    const COLORLESS: Stream = Stream { is_terminal: true, has_colors: false };
    const FORCED: Stream = Stream { is_terminal: false, has_colors: true };

    fn text() -> Text {
        let mut text = Text::default();
        text.line("Task ID", "t\u{1b}[2J");
        text.state("State", TaskState::Completed);
        text.block("Text", "a\n\nb");
        text.line("Artifact ID", "x");
        text
    }

    #[test]
    fn values_are_aligned_on_a_terminal() {
        assert_eq!(
            styled(&text(), COLORLESS, true),
            "Task ID: t\\x1b[2J\nState:   COMPLETED\nText:\na\n \nb\n\nArtifact ID: x\n"
        );
    }

    #[test]
    fn forced_colors_change_nothing_else() {
        let colored = styled(&text(), FORCED, true);
        assert!(colored.contains("\u{1b}[32mCOMPLETED\u{1b}[0m"), "{colored:?}");
        let stripped = anstream::adapter::strip_str(&colored).to_string();
        assert_eq!(stripped, text().plain());
    }

    #[test]
    fn time_is_relative_too_on_a_terminal_only() {
        let mut text = Text::default();
        text.time("Timestamp", Timestamp::from_millis(0));
        assert_eq!(text.plain(), "Timestamp: 1970-01-01T00:00:00.000Z\n");
        assert!(styled(&text, COLORLESS, false).ends_with(" years ago)\n"));
    }

    #[test]
    fn largest_whole_unit_is_shown() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        for (seconds, shown) in [
            (0, "just now"),
            (1, "1 second ago"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (200, "3 minutes ago"),
            (7_200, "2 hours ago"),
            (86_400, "1 day ago"),
            (40 * 86_400, "1 month ago"),
            (800 * 86_400, "2 years ago"),
            (-90, "in 1 minute"),
        ] {
            let time = Timestamp::from_millis(now.as_millis() - seconds * 1_000);
            assert_eq!(relative(time, now), shown, "{seconds}");
        }
        let first = Timestamp::from_millis(i64::MIN);
        assert!(relative(first, now).ends_with(" years ago"));
    }
}
