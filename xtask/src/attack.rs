//! Attacks a server, and prints its reactions.
//!
//! The attacks are in `tests/src/attack`.

use crate::{Result, workspace};

/// The arguments of `cargo xtask attack`.
///
/// Starts `a2a serve` over TLS with authentication, and attacks it. An attack fails the run if it
/// succeeds, or if the server crashes, hangs, leaks information, or accepts input without limit.
/// During an attack, another caller reads a task from another address: the median response time
/// must be at most 100 ms, and each at most 2 s. After each attack, a normal request with a token
/// on a new connection must be served within 100 ms: the median of 5, with up to 5 attempts a
/// second apart to tolerate pauses of the machine. Within 60 s of normal requests after each
/// group, the resident memory must be at most a fifth above that before the group; store caches
/// are filled beforehand where possible. The last line is `N attacks, M failed`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Groups to run: authentication, keys, scope, http, http/2, messages, memory, webhooks,
    /// amplification, disk, tls, injection, revisions, exec, stall, browser, quota, origin,
    /// terminal, gateway, queues
    groups: Vec<String>,
    /// Only attacks whose name contains this text
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
    if status.success() { Ok(()) } else { Err("an attack succeeded, see above".into()) }
}
