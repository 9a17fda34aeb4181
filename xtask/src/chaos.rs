//! Keeps tasks in flight at an agent of many nodes, kills the nodes, and prints what was lost.
//!
//! What is done and checked is in `tests/src/chaos` and `tests/src/bin/chaos`.

use std::fs;

use clap::ValueEnum;

use crate::{Result, workspace};

/// What `cargo xtask chaos` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long tasks are begun and nodes killed; what is in flight then is followed to its end
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Nodes of the agent
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// Tasks in flight at any time
    #[arg(long, default_value_t = 200)]
    tasks: usize,
    /// Where tasks are kept, and how nodes hear of each other; SQLite is for one node
    #[arg(long, value_enum, default_value_t)]
    store: Store,
    /// Seconds between two kills
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    kill_every: u64,
    /// Build with optimizations
    #[arg(long)]
    release: bool,
}

/// Where tasks are kept.
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
    if status.success() { Ok(()) } else { Err("something was lost, see above".into()) }
}
