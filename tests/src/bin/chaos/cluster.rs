//! The nodes, and what is done to them.

use std::{fmt, time::Duration};

use a2a_test_servers::{nats, postgres};
use a2a_tests::chaos::Node;
use tokio::time::Instant;

use crate::Plan;

/// How long a node that was killed stays away.
const AWAY: Duration = Duration::from_secs(4);
/// How long a node is stopped: longer than its leases last.
const PAUSE: Duration = Duration::from_secs(15);
/// One strike of so many stops a node too.
const PAUSES: usize = 5;

/// The nodes of an agent.
#[derive(Debug)]
pub(crate) struct Cluster {
    said: String,
    nodes: Vec<Member>,
    kills: usize,
    pauses: usize,
}

#[derive(Debug)]
struct Member {
    node: Node,
    /// What was done to it, and when that ends.
    hurt: Option<(Hurt, Instant)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hurt {
    Killed,
    Stopped,
}

impl Cluster {
    pub(crate) async fn start(plan: &Plan) -> Result<Self, String> {
        let no_server = |skipped: a2a_test_servers::Skipped| skipped.to_string();
        let mut arguments = vec!["--allow-webhook".to_owned(), "127.0.0.1".to_owned()];
        let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
        let mut count = plan.nodes.max(1);
        let said = match plan.store.as_str() {
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
            other => return Err(format!("{other} is no store: postgres, nats or sqlite")),
        };
        let mut nodes = Vec::new();
        for number in 1..=count {
            let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let name = format!("node-{number}");
            if plan.store != "sqlite" {
                all.extend(["--node", &name]);
            }
            let log = plan.folder.join(format!("{name}.log"));
            nodes.push(Member { node: Node::start(&plan.binary, &all, &log)?, hurt: None });
        }
        let said = format!("{count} nodes, {} tasks in flight; {said}", plan.tasks);
        Ok(Self { said, nodes, kills: 0, pauses: 0 })
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|member| member.node.url()).collect()
    }

    /// Kills the next node, and now and then stops another one, as long as one is well. One that
    /// is alone is either killed or stopped.
    pub(crate) fn strike(&mut self) -> String {
        let number = self.kills + self.pauses;
        let pauses = number % PAUSES == PAUSES - 1;
        let alone = self.nodes.len() == 1;
        let mut said = Vec::new();
        if !(alone && pauses)
            && let Some(index) = self.well(number, alone)
        {
            self.kills += 1;
            self.nodes[index].node.kill();
            self.nodes[index].hurt = Some((Hurt::Killed, Instant::now() + AWAY));
            said.push(format!("killed node {}", index + 1));
        }
        if pauses && let Some(index) = self.well(number + 1, alone) {
            self.pauses += 1;
            self.nodes[index].node.pause();
            self.nodes[index].hurt = Some((Hurt::Stopped, Instant::now() + PAUSE));
            said.push(format!("stopped node {} for {} s", index + 1, PAUSE.as_secs()));
        }
        if said.is_empty() {
            said.push("nobody is left to be killed".to_owned());
        }
        said.join(", ")
    }

    /// The next node that is well, if it is not the last one, or the only one there is.
    fn well(&self, from: usize, alone: bool) -> Option<usize> {
        let count = self.nodes.len();
        let is_well = |index: &usize| self.nodes[*index].hurt.is_none();
        let well: Vec<usize> =
            (0..count).map(|step| (from + step) % count).filter(is_well).collect();
        if alone || well.len() > 1 { well.first().copied() } else { None }
    }

    /// Lets those come back whose time it is.
    pub(crate) fn mend(&mut self) -> Result<(), String> {
        for (index, member) in self.nodes.iter_mut().enumerate() {
            match member.hurt {
                Some((hurt, until)) if Instant::now() >= until => {
                    match hurt {
                        Hurt::Killed => member.node.restart()?,
                        Hurt::Stopped => member.node.resume(),
                    }
                    member.hurt = None;
                }
                Some(_) => {}
                None if member.node.has_died() => {
                    return Err(format!("node {} ended by itself", index + 1));
                }
                None => {}
            }
        }
        Ok(())
    }

    pub(crate) fn strikes(&self) -> String {
        format!("{} kills, {} pauses", self.kills, self.pauses)
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}
