//! Output: the payload on stdout, everything else on stderr.
//!
//! All output goes through [`Output`], which knows the format and detects a closed stdout. JSON is
//! the same with and without a terminal; [`Text`] is aligned and has colors on one. What a terminal
//! would execute is escaped in both, by the functions of [`escape`].

mod card;
mod event;
mod markdown;
mod progress_line;
pub(crate) mod style;
mod styled;
mod task;
mod terminal;
mod text;
mod text_flow;

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use a2a_core::escape::{escape, escape_json, escape_line};
use anstyle::Style;
use serde::Serialize;

pub(crate) use a2a_core::escape::{escape_json as escaped_json, escape_line as escaped};
pub(crate) use card::card;
pub(crate) use event::EventText;
use markdown::MarkdownStream;
pub(crate) use progress_line::ProgressLine;
pub(crate) use style::state_name;
pub(crate) use task::{Detail as TaskDetail, ids, message, quoted, task, task_list};
pub(crate) use terminal::Terminal;
pub(crate) use text::{Text, is_markdown};
pub(crate) use text_flow::TextFlow;

use crate::{
    failure::{Code, Failure},
    settings::{OutputSettings, value::Format},
};

/// How a command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    format: Format,
    /// Whether each JSON document is one line.
    lines: bool,
    /// Whether all parts, history and metadata are printed.
    pub(crate) verbose: bool,
    debug: bool,
    /// Whether notes and warnings are events of the log.
    pub(crate) is_logged: bool,
    /// What stdout and stderr are connected to.
    pub(crate) terminal: Terminal,
}

impl Output {
    /// Creates the output of a command. With `--stream`, each JSON document is one line.
    pub(crate) fn new(settings: &OutputSettings, streams: bool) -> Self {
        Self {
            lines: settings.compact || streams,
            verbose: settings.verbose,
            debug: settings.debug,
            terminal: Self::terminal_for(settings.format, settings.render),
            ..Self::plain(settings.format)
        }
    }

    /// Creates an output for errors before the settings are known.
    pub(crate) fn plain(format: Format) -> Self {
        let terminal = Self::terminal_for(format, false);
        Self { format, lines: false, verbose: false, debug: false, is_logged: false, terminal }
    }

    /// A program may read JSON from a terminal, and with it what is printed on stderr: that is then
    /// without colors and progress.
    fn terminal_for(format: Format, renders: bool) -> Terminal {
        let mut terminal = Terminal::detect(renders);
        if format == Format::Json && terminal.stdout.is_terminal {
            terminal.stderr = terminal::Stream::default();
        }
        terminal
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// The line that shows the progress of a wait, on a terminal only.
    pub(crate) fn progress_line(self) -> ProgressLine {
        ProgressLine::new(self.shows_progress(), self.terminal.stderr.has_colors)
    }

    /// Whether progress is shown on a line of stderr that is rewritten.
    pub(crate) fn shows_progress(self) -> bool {
        self.terminal.stderr.can_rewrite() && !self.debug
    }

    /// Prints one JSON document.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let encoded = if self.lines {
            serde_json::to_string(value)
        } else {
            serde_json::to_string_pretty(value)
        };
        let mut encoded = encoded
            .map_err(|error| Failure::internal(format!("failed to encode the result: {error}")))?;
        encoded.push('\n');
        self.write(escape_json(&encoded).as_bytes())
    }

    /// Prints one JSON document on one line.
    pub(crate) fn json_line(self, value: &impl Serialize) -> Result<(), Failure> {
        Self { lines: true, ..self }.json(value)
    }

    /// Prints the text that `write` adds.
    pub(crate) fn text(self, write: impl FnOnce(&mut Text)) -> Result<(), Failure> {
        let Terminal { stdout, renders, .. } = self.terminal;
        self.write(styled::styled(&Text::of(write), stdout, renders).as_bytes())
    }

    /// Prints a document in another format, escaped on a terminal.
    pub(crate) fn document(self, document: &str) -> Result<(), Failure> {
        let is_terminal = self.terminal.stdout.is_terminal;
        let shown = if is_terminal { escape(document) } else { document.into() };
        self.write(shown.as_bytes())
    }

    /// Prints one result in the format of this run; `write` adds its text.
    pub(crate) fn result(
        self,
        value: &impl Serialize,
        write: impl FnOnce(&mut Text),
    ) -> Result<(), Failure> {
        if self.is_json() { self.json(value) } else { self.text(write) }
    }

    /// Writes bytes to stdout and flushes it. Text of a peer has to be escaped already.
    pub(crate) fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        progress_line::remove();
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Code::OutputClosed, ""))
            }
            Err(error) => Err(Failure::internal(format!("failed to write to stdout: {error}"))),
        }
    }

    /// Writes a line that starts with `note:` to stderr.
    pub(crate) fn note(self, text: &str) {
        if self.is_logged {
            return tracing::info!("{text}");
        }
        let line = format!("note: {}", escape_line(text));
        self.diagnostic(&self.painted(style::NOTE, &line));
    }

    /// Writes a line that starts with `warning:` to stderr.
    pub(crate) fn warning(self, text: &str) {
        if self.is_logged {
            return tracing::warn!("{text}");
        }
        let label = self.painted(style::WARNING, "warning:");
        self.diagnostic(&format!("{label} {}", escape_line(text)));
    }

    /// Writes a failure: with JSON, the envelope on stdout and one line on stderr, else labelled
    /// lines on stderr.
    pub(crate) fn failure(self, failure: &Failure) {
        if matches!(failure.code, Code::OutputClosed | Code::Reported | Code::ReportedInterrupted) {
            return;
        }
        if self.is_json() {
            // Always one line: under `--stream` it is the last of many. A closed stdout is ignored,
            // as stderr and the exit status also report the failure.
            let _closed = self.json_line(&BTreeMap::from([("error", failure)]));
            self.diagnostic(&format!("error: {}", escape_line(&failure.to_string())));
            return;
        }
        let error = self.painted(style::ERROR, "Error:");
        self.diagnostic(&format!("{error} {}", failure.code.name()));
        let code = failure.a2a_code.map(|code| code.to_string());
        let fields = [
            ("Message:", Some(failure.message())),
            ("Hint:", failure.hint()),
            ("A2A Code:", code.as_deref()),
        ];
        for (label, value) in fields {
            if let Some(value) = value {
                let label = self.painted(style::LABEL, label);
                self.diagnostic(&format!("{label} {}", escape_line(value)));
            }
        }
    }

    /// Colors a text for stderr, if it has colors.
    fn painted(self, style: Style, text: &str) -> String {
        let mut painted = String::new();
        style::paint(&mut painted, style, text, self.terminal.stderr.has_colors);
        painted
    }

    /// Replaces the last line of a terminal on stderr.
    pub(crate) fn progress(self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _closed = write!(stderr, "\r\x1b[K{}", escape_line(text)).and_then(|()| stderr.flush());
    }

    /// Writes to stderr. Text of a peer has to be escaped already. Errors are ignored, as they would
    /// be reported there.
    pub(crate) fn diagnostic(self, line: &str) {
        progress_line::remove();
        let mut stderr = io::stderr().lock();
        let _closed = writeln!(stderr, "{line}");
    }
}
