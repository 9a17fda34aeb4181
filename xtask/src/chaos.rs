//! Keeps tasks in flight on clusters whose nodes, links and servers fail, and prints figures that
//! should be zero.
//!
//! The implementation is in `tests/src/chaos` and `tests/src/bin/chaos`.

use std::fs;

use clap::ValueEnum;

use crate::{Result, workspace};

/// The arguments of `cargo xtask chaos`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Duration of all topologies together; tasks in flight at the end of each are completed
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Stores and number of nodes; repeatable [default: all]
    #[arg(long, value_enum)]
    topology: Vec<Topology>,
    /// Drills, of those that the topology has; repeatable [default: all]
    #[arg(long, value_enum)]
    drill: Vec<Drill>,
    /// Tasks in flight at any time, apart from those whose executors write a journal
    #[arg(long, default_value_t = 60)]
    tasks: usize,
    /// Number that determines the drills and the choices of clients [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Build with optimizations
    #[arg(long)]
    release: bool,
}

/// The stores and the number of nodes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Topology {
    /// PostgreSQL with a standby, two nodes
    #[value(name = "postgres-2")]
    Postgres2,
    /// PostgreSQL with a standby, three nodes
    #[value(name = "postgres-3")]
    Postgres3,
    /// PostgreSQL with a standby, and NATS `JetStream`, two nodes
    Nats,
    /// A file, one node
    Sqlite,
}

/// What happens to nodes, links and servers.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Drill {
    /// A node is killed, and restarted
    Kill,
    /// A node is stopped for longer than its leases last
    Stop,
    /// The link between a node and its database has a round trip of 300 ms
    SlowLink,
    /// Nothing passes between a node and its database for longer than leases last
    StalledLink,
    /// The standby becomes the primary, and old sessions read-only
    FailOver,
    /// NATS is killed, and replaced later
    LoseNats,
}

pub(crate) fn run(args: &Args) -> Result {
    let binaries = workspace::build(&["a2a-test-agent", "chaos"], args.release)?;
    let folder = workspace::root().join("target/chaos");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let program = binaries.join("chaos");
    let topologies =
        if args.topology.is_empty() { Topology::value_variants() } else { &args.topology };
    let plan = serde_json::json!({
        "topologies": names(topologies),
        "drills": names(&args.drill),
        "tasks": args.tasks,
        "seconds": workspace::seconds(args.minutes)?,
        "seed": args.seed.unwrap_or_else(|| std::process::id().into()),
        "binary": binaries.join("a2a-test-agent"),
        "steps": program,
        "folder": folder,
    });
    let status = std::process::Command::new(&program)
        .arg(plan.to_string())
        .current_dir(workspace::root())
        .status()?;
    if status.success() { Ok(()) } else { Err("not all figures are zero, see above".into()) }
}

fn names<V: ValueEnum>(values: &[V]) -> Vec<String> {
    let named = values.iter().filter_map(V::to_possible_value);
    named.map(|value| value.get_name().to_owned()).collect()
}
