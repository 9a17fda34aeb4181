//! What stdout and stderr are connected to.

use std::{
    env,
    io::{self, IsTerminal as _},
};

use anstream::{AutoStream, ColorChoice};

/// What stdout and stderr are connected to, and how much of a terminal is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terminal {
    pub(super) stdout: Stream,
    pub(super) stderr: Stream,
    /// Whether Markdown is rendered on a terminal.
    pub(super) renders: bool,
}

/// One of the output streams. The default is a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stream {
    /// Whether a person reads it: text is aligned, and times are relative too.
    pub(super) is_terminal: bool,
    pub(super) has_colors: bool,
}

impl Terminal {
    /// Detects terminals. `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are obeyed.
    pub(crate) fn detect(renders: bool) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        Self {
            stdout: Stream::new(stdout.is_terminal(), AutoStream::choice(&stdout)),
            stderr: Stream::new(stderr.is_terminal(), AutoStream::choice(&stderr)),
            renders,
        }
    }

    /// Whether stdout has colors.
    pub(crate) fn has_colors(self) -> bool {
        self.stdout.has_colors
    }

    /// Whether text parts are rendered as Markdown.
    pub(crate) fn renders_markdown(self) -> bool {
        self.renders && self.stdout.is_terminal
    }
}

impl Stream {
    /// `choice` allows colors on a dumb terminal if `CI` is set. Here only `CLICOLOR_FORCE` does.
    fn new(is_terminal: bool, choice: ColorChoice) -> Self {
        let is_forced = || env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty());
        let has_colors = choice != ColorChoice::Never && (!is_dumb() || is_forced());
        Self { is_terminal, has_colors }
    }

    /// Whether a line can be rewritten.
    pub(super) fn can_rewrite(self) -> bool {
        self.is_terminal && !is_dumb()
    }
}

/// Whether terminals understand no control sequences.
fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|kind| kind == "dumb")
}
