//! Whether to wait for a task.

use super::{flags::Flags, resolver::Resolver};
use crate::failure::Failure;

/// Whether to wait for a task to settle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The default of the command: `send` waits, `task get` does not.
    #[default]
    Default,
    Yes,
    No,
}

impl Waiting {
    /// Resolves `--async` and `--wait`, of which the stronger source counts. `--stream` overrides
    /// an `--async` of a variable or a file.
    pub(super) fn resolve(flags: &Flags, read: &mut Resolver<'_>) -> Result<Self, Failure> {
        let no_wait = read.switch("async", flags.no_wait)?;
        let wait = read.switch("wait", flags.wait)?;
        let (no_wait_rank, wait_rank) = (read.rank("async"), read.rank("wait"));
        if read.is_default("wait") {
            read.unset("wait", "on for send, off for task get");
        }
        if flags.no_wait && flags.stream {
            return Err(Failure::usage("--async and --stream are mutually exclusive"));
        }
        if no_wait && wait && no_wait_rank == wait_rank {
            return Err(Failure::usage("--async and --wait are mutually exclusive")
                .with_hint("they are also set by A2ACLI_ASYNC and A2ACLI_WAIT"));
        }
        let no_wait = no_wait && !flags.stream && (!wait || no_wait_rank < wait_rank);
        Ok(match (no_wait, wait) {
            (true, _) => Self::No,
            (false, true) => Self::Yes,
            // A2ACLI_WAIT=off.
            (false, false) if !read.is_default("wait") => Self::No,
            (false, false) => Self::Default,
        })
    }
}
