//! The nodes, and their outages.

use std::{fmt, time::Duration};

use a2a_test_servers::{nats, postgres};
use a2a_tests::chaos::Node;
use tokio::time::Instant;

use crate::Plan;

/// Time until a killed node is restarted.
const AWAY: Duration = Duration::from_secs(4);
/// Duration of a stop, longer than the leases last.
const PAUSE: Duration = Duration::from_secs(15);
/// Every n-th disruption also stops a node.
const PAUSES: usize = 5;

/// The nodes of an agent.
#[derive(Debug)]
pub(crate) struct Cluster {
    description: String,
    nodes: Vec<Member>,
    kills: usize,
    pauses: usize,
}

#[derive(Debug)]
struct Member {
    node: Node,
    /// The outage and its end.
    outage: Option<(Outage, Instant)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    Killed,
    Stopped,
}

impl Cluster {
    pub(crate) async fn start(plan: &Plan) -> Result<Self, String> {
        let no_server = |skipped: a2a_test_servers::Skipped| skipped.to_string();
        let mut arguments = vec!["--allow-webhook".to_owned(), "127.0.0.1".to_owned()];
        let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
        let mut count = plan.nodes.max(1);
        let store = match plan.store.as_str() {
            "sqlite" => {
                let path = plan.folder.join("chaos.db");
                add("--store", path.display().to_string());
                count = 1;
                format!("SQLite ({})", path.display())
            }
            name @ ("postgres" | "nats") => {
                let postgres = postgres().await.map_err(no_server)?;
                add("--store", postgres.database().await);
                if name == "nats" {
                    let nats = nats().await.map_err(no_server)?;
                    add(
                        "--cluster",
                        format!("{}/{}", nats.url().trim_end_matches('/'), nats.unique()),
                    );
                    format!("{postgres}; {nats}")
                } else {
                    postgres.to_string()
                }
            }
            other => {
                return Err(format!("unknown store {other}, expected postgres, nats or sqlite"));
            }
        };
        let mut nodes = Vec::new();
        for number in 1..=count {
            let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let name = format!("node-{number}");
            if plan.store != "sqlite" {
                all.extend(["--node", &name]);
            }
            let log = plan.folder.join(format!("{name}.log"));
            nodes.push(Member { node: Node::start(&plan.binary, &all, &log)?, outage: None });
        }
        let description = format!("{count} nodes, {} tasks in flight; {store}", plan.tasks);
        Ok(Self { description, nodes, kills: 0, pauses: 0 })
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|member| member.node.url()).collect()
    }

    /// Kills the next node, and sometimes stops another one, unless it is the last healthy one. A
    /// single node is either killed or stopped.
    pub(crate) fn disrupt(&mut self) -> String {
        let number = self.kills + self.pauses;
        let pauses = number % PAUSES == PAUSES - 1;
        let alone = self.nodes.len() == 1;
        let mut actions = Vec::new();
        if !(alone && pauses)
            && let Some(index) = self.healthy(number, alone)
        {
            self.kills += 1;
            self.nodes[index].node.kill();
            self.nodes[index].outage = Some((Outage::Killed, Instant::now() + AWAY));
            actions.push(format!("killed node {}", index + 1));
        }
        if pauses && let Some(index) = self.healthy(number + 1, alone) {
            self.pauses += 1;
            self.nodes[index].node.pause();
            self.nodes[index].outage = Some((Outage::Stopped, Instant::now() + PAUSE));
            actions.push(format!("stopped node {} for {} s", index + 1, PAUSE.as_secs()));
        }
        if actions.is_empty() {
            actions.push("no node to kill".to_owned());
        }
        actions.join(", ")
    }

    /// The next healthy node, unless it is the last of several.
    fn healthy(&self, from: usize, alone: bool) -> Option<usize> {
        let count = self.nodes.len();
        let is_well = |index: &usize| self.nodes[*index].outage.is_none();
        let healthy: Vec<usize> =
            (0..count).map(|step| (from + step) % count).filter(is_well).collect();
        if alone || healthy.len() > 1 { healthy.first().copied() } else { None }
    }

    /// Recovers the nodes whose outage is over.
    pub(crate) fn recover(&mut self) -> Result<(), String> {
        for (index, member) in self.nodes.iter_mut().enumerate() {
            match member.outage {
                Some((outage, until)) if Instant::now() >= until => {
                    match outage {
                        Outage::Killed => member.node.restart()?,
                        Outage::Stopped => member.node.resume(),
                    }
                    member.outage = None;
                }
                Some(_) => {}
                None if member.node.has_died() => {
                    return Err(format!("node {} exited unexpectedly", index + 1));
                }
                None => {}
            }
        }
        Ok(())
    }

    pub(crate) fn disruptions(&self) -> String {
        format!("{} kills, {} pauses", self.kills, self.pauses)
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}
