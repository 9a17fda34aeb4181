//! Output: the payload on stdout, everything else on stderr.
//!
//! All output goes through [`Output`], which knows the format and detects a closed stdout.

mod card;
mod escape;
mod event;
mod push_config;
mod task;
mod text;

use std::io::{self, Write};

use serde::Serialize;

pub(crate) use card::card;
use escape::escape_line;
pub(crate) use escape::escape_line as escaped;
pub(crate) use event::EventText;
pub(crate) use push_config::{push_config, push_configs, without_secrets};
pub(crate) use task::{
    Detail as TaskDetail, message, quoted, state_name, task, task_ids, task_list,
};
pub(crate) use text::Text;

use crate::{
    failure::{Code, Failure},
    settings::{Settings, value::Format},
};

/// How a command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    format: Format,
    /// Whether each JSON document is one line.
    lines: bool,
    verbose: bool,
}

impl Output {
    /// Creates the output of a command. With `--stream`, each JSON document is one line.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            format: settings.format,
            lines: settings.compact || settings.stream,
            verbose: settings.verbose,
        }
    }

    /// Creates an output for errors before the settings are known.
    pub(crate) fn plain(format: Format) -> Self {
        Self { format, lines: false, verbose: false }
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    pub(crate) fn verbose(self) -> bool {
        self.verbose
    }

    /// Prints one JSON document.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let encoded =
            if self.lines { serde_json::to_vec(value) } else { serde_json::to_vec_pretty(value) };
        let mut encoded = encoded
            .map_err(|error| Failure::internal(format!("failed to encode the result: {error}")))?;
        encoded.push(b'\n');
        self.write(&encoded)
    }

    /// Prints one JSON document on one line.
    pub(crate) fn json_line(self, value: &impl Serialize) -> Result<(), Failure> {
        Self { lines: true, ..self }.json(value)
    }

    /// Prints text.
    pub(crate) fn text(self, text: &Text) -> Result<(), Failure> {
        self.write(text.as_str().as_bytes())
    }

    /// Prints one result in the format of this run.
    pub(crate) fn result(
        self,
        value: &impl Serialize,
        text: impl FnOnce() -> Text,
    ) -> Result<(), Failure> {
        if self.is_json() { self.json(value) } else { self.text(&text()) }
    }

    /// Writes bytes to stdout and flushes it.
    pub(crate) fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(Failure::output_closed())
            }
            Err(error) => Err(Failure::internal(format!("failed to write to stdout: {error}"))),
        }
    }

    /// Writes a line that starts with `note:` to stderr.
    pub(crate) fn note(self, text: &str) {
        self.diagnostic(&format!("note: {}", escape_line(text)));
    }

    /// Writes a line that starts with `warning:` to stderr.
    pub(crate) fn warning(self, text: &str) {
        self.diagnostic(&format!("warning: {}", escape_line(text)));
    }

    /// Writes a failure: with JSON, the envelope on stdout and one line on stderr, else labelled
    /// lines on stderr.
    pub(crate) fn failure(self, failure: &Failure) {
        if matches!(failure.code(), Code::OutputClosed | Code::Reported | Code::ReportedInterrupted)
        {
            return;
        }
        if self.is_json() {
            // Always one line: under `--stream` it is the last of many. A closed stdout is ignored,
            // as stderr and the exit status also report the failure.
            let _closed = self.json_line(&failure.envelope());
            self.diagnostic(&format!("error: {}", escape_line(&failure.to_string())));
            return;
        }
        let mut text = Text::new();
        text.line("Error", failure.code().name());
        text.line("Message", failure.message());
        if let Some(hint) = failure.hint() {
            text.line("Hint", hint);
        }
        if let Some(code) = failure.a2a_code() {
            text.line("A2A Code", &code.to_string());
        }
        self.diagnostic(text.as_str().trim_end());
    }

    /// Replaces the last line of a terminal on stderr.
    pub(crate) fn progress(self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _closed = write!(stderr, "\r\x1b[K{}", escape_line(text)).and_then(|()| stderr.flush());
    }

    /// Writes to stderr. Errors are ignored, as they would be reported there.
    pub(crate) fn diagnostic(self, line: &str) {
        let mut stderr = io::stderr().lock();
        let _closed = writeln!(stderr, "{line}");
    }
}
