//! The nodes, their links and their servers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use a2a_test_servers::{Private, Replication};
use a2a_tests::chaos::{Cause, Link, Node, Outage, PROGRAM, Relay, uptime};
use tokio::task::block_in_place;

use crate::{Plan, drill::Drill, topology::Topology};

/// Commands at a time in a node: fewer than tasks, so that some of them wait.
const CONCURRENCY: &str = "3";

/// What runs on every node, each with tasks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The demo agent of `a2a serve`.
    Demo,
    /// `a2a serve` with a program that writes a journal.
    Programs,
    /// An executor that writes a journal and uses `once`.
    Steps,
}

impl Service {
    pub(crate) const ALL: [Self; 3] = [Self::Demo, Self::Programs, Self::Steps];

    const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Programs => "programs",
            Self::Steps => "steps",
        }
    }
}

/// The nodes of an agent.
#[derive(Debug)]
pub(crate) struct Cluster {
    members: Vec<Member>,
    database: Option<Replication>,
    nats: Option<Private>,
    folder: PathBuf,
    outages: Vec<Outage>,
    /// The node that is down or does not respond.
    away: Option<usize>,
}

#[derive(Debug)]
struct Member {
    name: String,
    /// In the order of [`Service::ALL`].
    processes: Vec<Node>,
    /// The link to the database.
    relay: Option<Relay>,
}

impl Cluster {
    pub(crate) async fn start(topology: Topology, plan: &Plan) -> Result<Self, String> {
        let folder = plan.folder.join(topology.name());
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let program = folder.join("program.sh");
        fs::write(&program, PROGRAM).map_err(|error| error.to_string())?;
        let database = match topology.has_database() {
            true => Some(Replication::start().await.map_err(|skipped| skipped.to_string())?),
            false => None,
        };
        let nats = match topology {
            Topology::Nats => {
                Some(Private::nats(&[]).await.map_err(|skipped| skipped.to_string())?)
            }
            Topology::Postgres2 | Topology::Postgres3 | Topology::Sqlite => None,
        };
        let mut cluster =
            Self { members: Vec::new(), database, nats, folder, outages: Vec::new(), away: None };
        for number in 1..=topology.nodes() {
            let member = cluster.member(format!("node-{number}"), plan).await?;
            cluster.members.push(member);
        }
        Ok(cluster)
    }

    async fn member(&self, name: String, plan: &Plan) -> Result<Member, String> {
        let relay = match &self.database {
            Some(database) => {
                Some(Relay::start(database.address()).await.map_err(|error| error.to_string())?)
            }
            None => None,
        };
        let mut member = Member { name, processes: Vec::new(), relay };
        for service in Service::ALL {
            let arguments = self.arguments(&member, service);
            let binary = if service == Service::Steps { &plan.steps } else { &plan.binary };
            let log = self.folder.join(format!("{}-{}.log", member.name, service.name()));
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let process = block_in_place(|| Node::start(binary, &arguments, &log))?;
            member.processes.push(process);
        }
        Ok(member)
    }

    fn arguments(&self, member: &Member, service: Service) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
        let name = service.name();
        match (&self.database, &member.relay) {
            (Some(database), Some(relay)) => {
                add("--store", format!("{}?schema={name}", database.url_at(relay.address())));
                add("--node", member.name.clone());
            }
            _ => add("--store", path(&self.folder.join(format!("{name}.db")))),
        }
        if let Some(nats) = &self.nats {
            add("--cluster", format!("{}/{name}", nats.url().trim_end_matches('/')));
        }
        let journal = path(&self.journal(service));
        match service {
            Service::Demo => add("--allow-webhook", "127.0.0.1".into()),
            Service::Programs => {
                add("--concurrency", CONCURRENCY.into());
                let script = path(&self.folder.join("program.sh"));
                arguments.extend(["--".into(), "sh".into(), script, member.name.clone(), journal]);
            }
            Service::Steps => {
                if self.database.is_none() {
                    add("--node", member.name.clone());
                }
                add("--journal", journal);
            }
        }
        arguments
    }

    fn journal(&self, service: Service) -> PathBuf {
        self.folder.join(format!("{}.journal", service.name()))
    }

    /// The journals of all executors.
    pub(crate) fn journals(&self) -> String {
        let read = |service| fs::read_to_string(self.journal(service)).unwrap_or_default();
        [Service::Programs, Service::Steps].map(read).concat()
    }

    /// When nodes were stopped, or cut off from the database.
    pub(crate) fn outages(&self) -> Vec<Outage> {
        self.outages.clone()
    }

    /// The URLs of a service.
    pub(crate) fn urls(&self, service: Service) -> Vec<String> {
        let index = Service::ALL.iter().position(|other| *other == service).unwrap_or_default();
        self.members.iter().map(|member| member.processes[index].url()).collect()
    }

    /// Begins a drill, and says what it does.
    pub(crate) async fn begin(&mut self, drill: Drill, node: usize) -> Result<String, String> {
        let member = &mut self.members[node];
        let name = member.name.clone();
        Ok(match drill {
            Drill::Kill => {
                self.away = Some(node);
                member.processes.iter_mut().for_each(Node::kill);
                format!("{name} is killed")
            }
            Drill::Stop => {
                self.away = Some(node);
                self.outages.push(Outage::begin(&name, Cause::Stopped));
                member.processes.iter().for_each(Node::pause);
                format!("{name} is stopped")
            }
            Drill::SlowLink => {
                member.link(Link::SLOW);
                format!("the link of {name} is slow")
            }
            Drill::StalledLink => {
                self.outages.push(Outage::begin(&name, Cause::Stalled));
                member.link(Link::Stalled);
                format!("the link of {name} is stalled")
            }
            Drill::FailOver => {
                let database = self.database.as_mut().ok_or("there is no database")?;
                database.fail_over().await?;
                let primary = database.address();
                let relays = self.members.iter().filter_map(|member| member.relay.as_ref());
                relays.for_each(|relay| relay.set_target(primary));
                "the database has failed over, and old sessions are read-only".into()
            }
            Drill::LoseNats => {
                self.nats.as_mut().ok_or("there is no NATS")?.kill();
                "NATS is killed".into()
            }
        })
    }

    /// Ends a drill.
    pub(crate) async fn end(&mut self, drill: Drill, node: usize) -> Result<(), String> {
        let member = &mut self.members[node];
        match drill {
            Drill::Kill => {
                for process in &mut member.processes {
                    block_in_place(|| process.restart())?;
                }
                self.away = None;
            }
            Drill::Stop => {
                // Before anything can go on.
                if let Some(outage) = self.outages.last_mut() {
                    outage.until = uptime();
                }
                member.processes.iter().for_each(Node::resume);
                self.away = None;
            }
            Drill::SlowLink => member.link(Link::Open),
            Drill::StalledLink => {
                if let Some(outage) = self.outages.last_mut() {
                    outage.until = uptime();
                }
                member.link(Link::Open);
            }
            Drill::FailOver => {
                let database = self.database.as_mut().ok_or("there is no database")?;
                database.kill_former();
                database.add_standby().await?;
            }
            Drill::LoseNats => self.nats.as_mut().ok_or("there is no NATS")?.start().await,
        }
        Ok(())
    }

    /// Fails if a process has exited by itself.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        for (index, member) in self.members.iter_mut().enumerate() {
            if self.away != Some(index) && member.processes.iter_mut().any(Node::has_died) {
                return Err(format!("{} exited unexpectedly", member.name));
            }
        }
        Ok(())
    }
}

impl Member {
    fn link(&self, link: Link) {
        if let Some(relay) = &self.relay {
            relay.set(link);
        }
    }
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
