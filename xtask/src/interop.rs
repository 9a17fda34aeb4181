//! Calls the official SDKs and is called by them.

use crate::Result;

/// What `cargo xtask interop` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> Result {
    Err("there is no interop driver yet".into())
}
