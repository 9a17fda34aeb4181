//! What stdout and stderr are connected to.

use std::io::{self, IsTerminal as _};

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
            stdout: Stream {
                is_terminal: stdout.is_terminal(),
                has_colors: AutoStream::choice(&stdout) != ColorChoice::Never,
            },
            stderr: Stream {
                is_terminal: stderr.is_terminal(),
                has_colors: AutoStream::choice(&stderr) != ColorChoice::Never,
            },
            renders,
        }
    }

    /// The same for a program that may read stdout: if that is a terminal, stderr is not used as
    /// one, because it may be the same.
    pub(super) fn for_programs(self) -> Self {
        let stderr = if self.stdout.is_terminal { Stream::default() } else { self.stderr };
        Self { stderr, ..self }
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
    /// Whether a line can be rewritten.
    pub(super) fn can_rewrite(self) -> bool {
        self.is_terminal && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
    }
}
