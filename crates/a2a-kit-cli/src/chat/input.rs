//! The input of a conversation: a terminal with its mode between prompts, or lines of a pipe or file.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use super::line_editor::{Line, LineEditor};
use crate::{failure::Failure, output::Output};

/// The maximum length of a piped line, in bytes.
const MAX_LINE: u64 = 10 << 20;

/// Where the lines of a conversation come from.
#[derive(Debug)]
pub(crate) enum Input {
    /// A person at a terminal. The editor is absent while it reads.
    Terminal(Option<Box<LineEditor>>),
    /// A pipe or file.
    Lines,
}

impl Input {
    /// Opens standard input.
    /// Errors: a usage failure for a terminal whose prompts would go elsewhere, and for JSON on a
    /// terminal.
    pub(crate) fn open(output: Output, streams: bool) -> Result<Self, Failure> {
        let is_terminal = io::stdin().is_terminal();
        if output.is_json() && is_terminal {
            return Err(Failure::usage("chat with --output json needs piped standard input")
                .with_hint("use --output text on a terminal; /raw shows events as JSON"));
        }
        if output.is_json() && !streams {
            return Err(Failure::usage("chat with --output json needs --stream")
                .with_hint("it prints one JSON document per line"));
        }
        if !is_terminal {
            return Ok(Self::Lines);
        }
        if !io::stdout().is_terminal() {
            return Err(Failure::usage("standard input is a terminal, but standard output is not")
                .with_hint("pipe messages into `a2a chat`, or send one with `a2a send`"));
        }
        let editor = LineEditor::new(output.terminal.has_colors())?;
        Ok(Self::Terminal(Some(Box::new(editor))))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Reads the next line.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the thread that reads can't be stopped.
    pub(super) async fn next(&mut self, prompt: &'static str) -> Result<Line, Failure> {
        match self {
            Self::Lines => blocking(read_line).await?,
            Self::Terminal(editor) => {
                let Some(mut reading) = editor.take() else { return Ok(Line::End) };
                let (line, returned) = blocking(move || (reading.read(prompt), reading)).await?;
                *editor = Some(returned);
                line
            }
        }
    }
}

async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| Failure::internal(format!("failed to read standard input: {error}")))
}

fn read_line() -> Result<Line, Failure> {
    let mut line = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_LINE + 1)
        .read_until(b'\n', &mut line)
        .map_err(|error| Failure::usage(format!("failed to read standard input: {error}")))?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    if u64::try_from(line.len()).unwrap_or(u64::MAX) > MAX_LINE {
        return Err(Failure::usage(format!("standard input: a line exceeds {MAX_LINE} bytes")));
    }
    let line = String::from_utf8(line)
        .map_err(|error| Failure::usage(format!("standard input is not UTF-8: {error}")))?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(Line::Text(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}

/// Keeps what is typed while the agent works for the next prompt, instead of showing it among the
/// output. Ctrl-C is still a signal. The original mode is restored when this is dropped.
#[derive(Debug)]
pub(super) struct TerminalMode {
    #[cfg(unix)]
    original: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl TerminalMode {
    /// Switches the terminal on standard input to this mode.
    pub(super) fn hold_input() -> Self {
        use rustix::termios::{InputModes, LocalModes, tcgetattr};
        let original = tcgetattr(io::stdin()).ok();
        if let Some(original) = &original {
            let mut held = original.clone();
            // Keys go to the editor as they are: Ctrl-D is not the end of a line that the system
            // edits, and Enter is not a newline, which is a key of its own.
            held.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN);
            held.input_modes.remove(InputModes::ICRNL);
            set(&held);
        }
        Self { original }
    }
}

#[cfg(unix)]
impl Drop for TerminalMode {
    fn drop(&mut self) {
        if let Some(original) = &self.original {
            set(original);
        }
    }
}

#[cfg(unix)]
fn set(mode: &rustix::termios::Termios) {
    use rustix::termios::{OptionalActions, tcsetattr};
    // A terminal that is gone needs no mode.
    let _gone = tcsetattr(io::stdin(), OptionalActions::Drain, mode);
}

#[cfg(not(unix))]
impl TerminalMode {
    pub(super) fn hold_input() -> Self {
        Self {}
    }
}
