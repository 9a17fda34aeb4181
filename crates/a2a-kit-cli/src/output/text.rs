//! Text output: labelled lines and blocks.

use a2a_core::{Part, v1::part::Content};
use serde::Serialize;

use super::escape::{escape, escape_line};

/// Text output under construction.
#[derive(Debug, Default)]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds `Label: value`.
    pub(crate) fn line(&mut self, label: &str, value: &str) {
        self.0.push_str(label);
        self.0.push_str(": ");
        self.0.push_str(&escape_line(value));
        self.0.push('\n');
    }

    /// Adds `Label: value`, unless there is no value.
    pub(crate) fn line_if_any(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.line(label, value);
        }
    }

    /// Adds a block: the label, the content, an empty line. An empty line inside the content is
    /// written as one space, so that the first truly empty line ends the block.
    pub(crate) fn block(&mut self, label: &str, content: &str) {
        self.0.push_str(label);
        self.0.push_str(":\n");
        for line in escape(content).split('\n') {
            self.0.push_str(if line.is_empty() { " " } else { line });
            self.0.push('\n');
        }
        self.0.push('\n');
    }

    /// Adds a block of indented JSON.
    pub(crate) fn json(&mut self, label: &str, value: &impl Serialize) {
        // Protocol values have string keys and finite numbers, so encoding can't fail.
        let json = serde_json::to_string_pretty(value).unwrap_or_default();
        self.block(label, &json);
    }

    /// Adds all parts of a message or an artifact.
    pub(crate) fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match &part.content {
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
    }

    /// Adds another text.
    pub(crate) fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    pub(crate) fn empty_line(&mut self) {
        self.0.push('\n');
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn media_type(part: &Part) -> &str {
    if part.media_type.is_empty() { "unknown type" } else { &part.media_type }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_line_inside_a_block_does_not_end_it() {
        let mut text = Text::new();
        text.block("Text", "a\n\nb");
        assert_eq!(text.as_str(), "Text:\na\n \nb\n\n");
    }

    #[test]
    fn every_kind_of_part_is_shown() {
        let mut text = Text::new();
        text.parts(&[
            Part::text("hello"),
            Part::data(1),
            Part::raw(vec![1, 2]).with_filename("a.bin"),
            Part::url("https://a.b/c").with_media_type("image/png"),
        ]);
        assert_eq!(
            text.as_str(),
            "Text:\nhello\n\nData:\n1\n\nFile: a.bin (unknown type, 2 bytes)\n\
             File: https://a.b/c (image/png)\n"
        );
    }
}
