//! Keeps tasks in flight on a cluster, kills its nodes, and prints lost tasks and events.
//!
//! The implementation is in `tests/src/chaos` and `tests/src/bin/chaos`.

use std::fs;

use clap::ValueEnum;

use crate::{Result, workspace};

/// The arguments of `cargo xtask chaos`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Duration of starting tasks and killing nodes; tasks in flight at the end are completed
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Number of nodes
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// Tasks in flight at any time
    #[arg(long, default_value_t = 200)]
    tasks: usize,
    /// Store, and channel for signals between nodes; SQLite supports one node
    #[arg(long, value_enum, default_value_t)]
    store: Store,
    /// Seconds between two kills
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    kill_every: u64,
    /// Build with optimizations
    #[arg(long)]
    release: bool,
}

/// The store and the channel for signals.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Store {
    /// PostgreSQL, with LISTEN and NOTIFY.
    #[default]
    Postgres,
    /// PostgreSQL, with NATS `JetStream`.
    Nats,
    /// A file.
    Sqlite,
}

pub(crate) fn run(args: &Args) -> Result {
    let binaries = workspace::build(&["a2a", "chaos"], args.release)?;
    let store = args.store.to_possible_value().map(|value| value.get_name().to_owned());
    let folder = workspace::root().join("target/chaos");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let plan = serde_json::json!({
        "store": store.unwrap_or_default(),
        "nodes": args.nodes,
        "tasks": args.tasks,
        "seconds": workspace::seconds(args.minutes)?,
        "kill_every_seconds": args.kill_every.max(1),
        "binary": binaries.join("a2a"),
        "folder": folder,
    });
    let status = std::process::Command::new(binaries.join("chaos"))
        .arg(plan.to_string())
        .current_dir(workspace::root())
        .status()?;
    if status.success() { Ok(()) } else { Err("tasks or events were lost, see above".into()) }
}
