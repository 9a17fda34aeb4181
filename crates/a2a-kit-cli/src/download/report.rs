//! What a download saved.

use serde::Serialize;

use crate::{
    failure::Failure,
    output::{Output, Text},
};

/// The files of a download, and the URLs that were not fetched.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(super) saved: Vec<Saved>,
    pub(super) skipped: Vec<Skipped>,
}

/// A part, or joined chunks, that are a file now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Saved {
    pub(super) artifact_id: String,
    /// The index in its artifact of the first part.
    pub(super) part: usize,
    pub(super) path: String,
    pub(super) media_type: String,
    pub(super) bytes: u64,
}

/// A URL that was not fetched.
#[derive(Debug, Serialize)]
pub(super) struct Skipped {
    pub(super) url: String,
}

impl Report {
    /// Writes a line for each file and URL.
    pub(crate) fn write(&self, text: &mut Text) {
        for saved in &self.saved {
            text.line("Saved", &saved.describe());
        }
        for skipped in &self.skipped {
            text.line("URL", &skipped.url);
        }
    }

    /// Prints a JSON document, or for each file a line.
    pub(crate) fn print_json(&self, as_lines: bool, output: Output) -> Result<(), Failure> {
        if as_lines {
            return self.saved.iter().try_for_each(|saved| output.json(saved));
        }
        output.json(self)
    }

    /// Notes each file and URL on stderr.
    pub(crate) fn note(&self, output: Output) {
        for saved in &self.saved {
            output.note(&format!("saved {}", saved.describe()));
        }
        self.note_skipped(output);
    }

    /// Notes each URL that was not fetched on stderr.
    pub(crate) fn note_skipped(&self, output: Output) {
        for skipped in &self.skipped {
            output.note(&format!("not fetched: {}", skipped.url));
        }
    }
}

impl Saved {
    fn describe(&self) -> String {
        let media_type = if self.media_type.is_empty() { "unknown type" } else { &self.media_type };
        format!("{} ({media_type}, {} bytes)", self.path, self.bytes)
    }
}
