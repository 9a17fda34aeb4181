//! Line editing on a terminal: history, completion, and messages of several lines.

use std::fmt;

use anstyle::AnsiColor;
use rustyline::{
    Cmd, Config, Context, Editor, Event, EventHandler, Helper, KeyCode, KeyEvent, Modifiers,
    completion::{Completer, FilenameCompleter, Pair},
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::MemHistory,
    validate::Validator,
};

use super::slash_command::COMMANDS;
use crate::failure::Failure;

/// Lines that can be recalled. They are kept in memory only.
const MAX_HISTORY: usize = 500;

/// Reads lines from a terminal. Ctrl-J and Alt-Enter start a new line, pasted newlines are kept.
pub(crate) struct LineEditor {
    editor: Editor<Completion, MemHistory>,
    has_colors: bool,
}

impl LineEditor {
    pub(super) fn new(has_colors: bool) -> Result<Self, Failure> {
        let config = Config::builder().max_history_size(MAX_HISTORY).map_err(failed)?.build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).map_err(failed)?;
        editor.set_helper(Some(Completion(FilenameCompleter::new())));
        for key in [
            KeyEvent(KeyCode::Char('J'), Modifiers::CTRL),
            KeyEvent(KeyCode::Enter, Modifiers::ALT),
        ] {
            editor.bind_sequence(Event::from(key), EventHandler::Simple(Cmd::Newline));
        }
        Ok(Self { editor, has_colors })
    }

    /// Reads a line, and blocks until there is one.
    pub(super) fn read(&mut self, prompt: &str) -> Result<Line, Failure> {
        let style = AnsiColor::Cyan.on_default().bold();
        let styled =
            if self.has_colors { format!("{style}{prompt}{style:#}") } else { prompt.to_owned() };
        match self.editor.readline(&(prompt, styled)) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    self.editor.add_history_entry(line.as_str()).map_err(failed)?;
                }
                Ok(Line::Text(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(failed(error)),
        }
    }
}

impl fmt::Debug for LineEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineEditor").finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: ReadlineError) -> Failure {
    Failure::internal(format!("failed to read from the terminal: {error}"))
}

/// Completes the names of commands, and the path of `/attach`.
struct Completion(FilenameCompleter);

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        if line.starts_with("/attach ") {
            return self.0.complete_path(line, position);
        }
        let typed = line.get(..position).unwrap_or(line);
        let known =
            COMMANDS.iter().filter(|(name, ..)| !typed.is_empty() && name.starts_with(typed));
        let pair = |(name, argument, _): &(&str, &str, &str)| {
            let space = if argument.is_empty() { "" } else { " " };
            Pair { display: (*name).to_owned(), replacement: format!("{name}{space}") }
        };
        Ok((0, known.map(pair).collect()))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

/// What was read.
#[derive(Debug)]
pub(super) enum Line {
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// The end of the input; Ctrl-D at the prompt.
    End,
}
