//! Keeps a server busy in every way for a long time, and says whether anything of it grows.
//!
//! What is done and looked at is in `tests/src/bin/soak`.

use std::fs;

use crate::{Result, workspace};

/// What `cargo xtask soak` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long each store is used; in the first third the server warms up
    #[arg(long, default_value_t = 15.0)]
    minutes: f64,
    /// Callers at a time
    #[arg(long, default_value_t = 32)]
    callers: usize,
    /// Only with this store: memory or sqlite
    #[arg(long, value_parser = ["memory", "sqlite"])]
    store: Option<String>,
    /// Build with optimizations
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let seconds = workspace::seconds(args.minutes)?;
    if seconds < 180 {
        return Err("--minutes: less than 3 say nothing of what grows".into());
    }
    let binaries = workspace::build(&["a2a", "soak"], args.release)?;
    let folder = workspace::root().join("target/soak");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let stores = match &args.store {
        Some(store) => vec![store.as_str()],
        None => vec!["memory", "sqlite"],
    };
    let plan = serde_json::json!({
        "stores": stores,
        "seconds": seconds,
        "callers": args.callers.max(1),
        "binary": binaries.join("a2a"),
        "folder": folder,
    });
    let status = std::process::Command::new(binaries.join("soak"))
        .arg(plan.to_string())
        .current_dir(workspace::root())
        .status()?;
    if status.success() { Ok(()) } else { Err("something grows or failed, see above".into()) }
}
