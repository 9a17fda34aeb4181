//! The operations that can be measured.

use clap::ValueEnum;

/// An operation that can be measured: sending a message, the same until its stream ends, reading one
/// task that is created first, reading the first page of tasks, or fetching the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    Send,
    Stream,
    Get,
    List,
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
