//! The operations that can be measured.

use clap::ValueEnum;

/// An operation that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    /// SendMessage, until the response
    Send,
    /// SendStreamingMessage, until the stream ends
    Stream,
    /// GetTask, of one task that is created first
    Get,
    /// ListTasks, the first page
    List,
    /// The agent card
    Card,
}

impl Operation {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Stream => "stream",
            Self::Get => "get",
            Self::List => "list",
            Self::Card => "card",
        }
    }
}
