//! Runs a mixed load against a server for a long time, and detects growth of its resources.
//!
//! The load and the samples are in `tests/src/bin/soak`.

use std::fs;

use crate::{Result, workspace};

/// The arguments of `cargo xtask soak`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Duration per store; the first third is warm-up
    #[arg(long, default_value_t = 15.0)]
    minutes: f64,
    /// Concurrent callers
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
        return Err("--minutes: at least 3 are needed to detect growth".into());
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
    if status.success() {
        Ok(())
    } else {
        Err("a resource grows or a request failed, see above".into())
    }
}
