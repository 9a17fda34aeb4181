//! Attacks a server, and says what it did.
//!
//! What is tried is in `tests/src/attack`.

use crate::{Result, workspace};

/// What `cargo xtask attack` takes.
///
/// Starts `a2a serve` over TLS, with callers that have to authenticate, and attacks it. An attack
/// has failed if it did harm: if it got in, or if the server crashed, hung, told what it should
/// not, or did not stop taking. While it runs, another caller reads a task from another address:
/// the median of its answers has to come within 100 ms, and none after more than 2 s. After each
/// one a normal request, with a token and on a new connection, has to be served within 100 ms: the
/// median of 5, up to 5 times a second apart, so that a pause of the machine is no harm. At the
/// end of each group the resident memory has to be back, within 60 s of normal requests, at no
/// more than a fifth above what it was before the group; caches of the store are filled before, as
/// far as that can be brought about. The last line is `N attacks, M failed`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Groups to try: authentication, keys, scope, http, http/2, messages, memory, webhooks,
    /// amplification, disk, tls, injection, revisions, exec, stall, browser, quota
    groups: Vec<String>,
    /// Only attacks that have this in their name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Build with optimizations
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let binaries = workspace::build(&["a2a", "attack"], args.release)?;
    let plan = serde_json::json!({
        "binary": binaries.join("a2a"),
        "groups": args.groups,
        "only": args.only,
    });
    let status = std::process::Command::new(binaries.join("attack"))
        .arg(plan.to_string())
        .current_dir(workspace::root())
        .status()?;
    if status.success() { Ok(()) } else { Err("an attack did harm, see above".into()) }
}
