//! Text output: labelled lines and blocks.

use a2a_core::{
    Part, TaskState,
    escape::{escape_json, escape_line},
    v1::part::Content,
    well_known::Timestamp,
};
use serde::Serialize;

use super::style::state_name;

/// Text output under construction. `plain` in `styled.rs` is its form in pipes and files, which is
/// stable; `styled` its form on a terminal.
#[derive(Debug, Default)]
pub(crate) struct Text(Vec<Entry>);

/// A line or block of text output.
#[derive(Debug)]
pub(super) enum Entry {
    Line(Label, Value),
    Block(Label, String),
    /// The block of a text part, which may be Markdown.
    Markdown(Label, String),
    /// The label of a block whose content follows in chunks.
    Label(Label),
    /// Text as it is printed.
    Shown(String),
    Empty,
}

type Label = String;

/// What follows the label of a line.
#[derive(Debug)]
pub(super) enum Value {
    Plain(String),
    State(TaskState),
    Time(Timestamp),
}

impl Value {
    /// The value on one line, escaped.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Plain(value) => escape_line(value).into_owned(),
            Self::State(state) => state_name(*state).to_owned(),
            Self::Time(time) => time.to_string(),
        }
    }
}

impl Text {
    /// Creates the text that `write` adds.
    pub(crate) fn of(write: impl FnOnce(&mut Self)) -> Self {
        let mut text = Self::default();
        write(&mut text);
        text
    }

    /// Adds `Label: value`.
    pub(crate) fn line(&mut self, label: &str, value: &str) {
        self.value(label, Value::Plain(value.to_owned()));
    }

    /// Adds `Label: value`, unless there is no value.
    pub(crate) fn line_if_any(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.line(label, value);
        }
    }

    /// Adds `Label: yes` or `Label: no`.
    pub(crate) fn yes_or_no(&mut self, label: &str, is_true: bool) {
        self.line(label, if is_true { "yes" } else { "no" });
    }

    /// Adds a line with the short name of a state.
    pub(crate) fn state(&mut self, label: &str, state: TaskState) {
        self.value(label, Value::State(state));
    }

    /// Adds a line with a time; on a terminal also relative to now.
    pub(crate) fn time(&mut self, label: &str, time: Timestamp) {
        self.value(label, Value::Time(time));
    }

    /// Adds a block: the label, the content, an empty line. An empty line inside the content is
    /// written as one space, so that the first truly empty line ends the block.
    pub(crate) fn block(&mut self, label: &str, content: &str) {
        self.0.push(Entry::Block(label.to_owned(), content.to_owned()));
    }

    /// Adds a block of indented JSON.
    pub(crate) fn json(&mut self, label: &str, value: &impl Serialize) {
        // Protocol values have string keys and finite numbers, so encoding can't fail.
        let json = serde_json::to_string_pretty(value).unwrap_or_default();
        self.block(label, &escape_json(&json));
    }

    /// Adds the label of a block, whose content and empty line follow with [`shown`](Self::shown).
    pub(super) fn label(&mut self, label: &str) {
        self.0.push(Entry::Label(label.to_owned()));
    }

    /// Adds text that is escaped already.
    pub(super) fn shown(&mut self, shown: String) {
        self.0.push(Entry::Shown(shown));
    }

    /// Adds the parts of an artifact: the chunks of one text or file as one part.
    pub(crate) fn joined_parts(&mut self, parts: &[Part]) {
        a2a_kit_artifacts::joined_parts(parts).for_each(|part| self.part(&part));
    }

    /// Adds all parts of a message or an artifact.
    pub(crate) fn parts(&mut self, parts: &[Part]) {
        parts.iter().for_each(|part| self.part(part));
    }

    /// Adds a part of a message or an artifact.
    pub(crate) fn part(&mut self, part: &Part) {
        match &part.content {
            Some(Content::Text(text)) if is_markdown(part) => {
                self.0.push(Entry::Markdown("Text".to_owned(), text.clone()));
            }
            Some(Content::Text(text)) => self.block("Text", text),
            Some(Content::Data(data)) => self.json("Data", data),
            Some(Content::Raw(raw)) => {
                let name =
                    if part.filename.is_empty() { "unnamed" } else { part.filename.as_str() };
                let media_type = media_type(part);
                self.line("File", &format!("{name} ({media_type}, {} bytes)", raw.len()));
            }
            Some(Content::Url(url)) => {
                self.line("File", &format!("{url} ({})", media_type(part)));
            }
            None => self.line("Text", ""),
        }
    }

    /// Adds another text.
    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn empty_line(&mut self) {
        self.0.push(Entry::Empty);
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.0
    }

    fn value(&mut self, label: &str, value: Value) {
        self.0.push(Entry::Line(label.to_owned(), value));
    }
}

/// Returns whether a text part may be Markdown: agents rarely declare it.
pub(crate) fn is_markdown(part: &Part) -> bool {
    let media_type = part.media_type.split(';').next().unwrap_or_default().trim();
    ["", "text/markdown", "text/x-markdown"].contains(&media_type)
}

fn media_type(part: &Part) -> &str {
    if part.media_type.is_empty() { "unknown type" } else { &part.media_type }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_part_is_shown() {
        let mut text = Text::default();
        text.parts(&[
            Part::text("hello"),
            Part::data(1),
            Part::raw(vec![1, 2]).with_filename("a.bin"),
            Part::url("https://a.b/c").with_media_type("image/png"),
        ]);
        assert_eq!(
            text.plain(),
            "Text:\nhello\n\nData:\n1\n\nFile: a.bin (unknown type, 2 bytes)\n\
             File: https://a.b/c (image/png)\n"
        );
    }
}
