//! An agent whose executor writes a journal of its side effects, as a process like `a2a serve`.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use a2a_kit::{AgentCard, AgentExecutor, BoxError, Engine, RequestContext, Server, TaskUpdater};
use a2a_kit_operations::{EngineConfig, Recovery, Store};
use a2a_kit_store::{
    nats::{Clustered, NatsConfig},
    postgres::{PostgresConfig, PostgresStore},
    sqlite::SqliteStore,
};
use a2a_tests::chaos::{Did, Entry, uptime};
use tokio::{net::TcpListener, time::sleep};

/// Time for a `once`, and between two.
const STEP: Duration = Duration::from_millis(125);
/// A task may outlive every outage.
const MAX_RERUNS: u64 = 100;

/// The arguments, in the form of those of `a2a serve`.
#[derive(Debug, Default)]
struct Arguments {
    port: u16,
    store: String,
    cluster: Option<String>,
    node: String,
    journal: PathBuf,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, BoxError> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            if word == "--quiet" {
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
            match word.as_str() {
                "--port" => arguments.port = value.parse()?,
                "--store" => arguments.store = value,
                "--cluster" => arguments.cluster = Some(value),
                "--node" => arguments.node = value,
                "--journal" => arguments.journal = value.into(),
                other => return Err(format!("unknown argument {other}").into()),
            }
        }
        Ok(arguments)
    }

    async fn store(&self) -> Result<Arc<dyn Store>, BoxError> {
        if !self.store.contains("://") {
            return Ok(Arc::new(SqliteStore::open(&self.store).await?));
        }
        let node = format!("{}.{}", self.node, a2a_core::fresh_id());
        let config = PostgresConfig::default().with_node(node).with_notify(self.cluster.is_none());
        let store = Arc::new(PostgresStore::connect_with(&self.store, config).await?);
        let Some(cluster) = &self.cluster else { return Ok(store) };
        let (url, name) = cluster.rsplit_once('/').ok_or("a cluster has a name")?;
        let config = NatsConfig::new(url).with_cluster(name);
        Ok(Arc::new(Clustered::connect(store, config).await?))
    }
}

/// Does as many steps as the message says, each of them once, unless they are to be `plain`.
#[derive(Debug)]
struct Steps {
    node: String,
    journal: PathBuf,
}

impl AgentExecutor for Steps {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let run = a2a_core::fresh_id();
        let line = |did| {
            let (node, run) = (self.node.clone(), run.clone());
            let task = context.task_id().to_owned();
            Entry { at: uptime(), node, run, task, did }.append(&self.journal)
        };
        line(Did::Begin)?;
        updates.start().await?;
        let text = context.text();
        let (steps, kind) = text.split_once(' ').unwrap_or((&text, ""));
        for number in 1..=steps.parse::<u64>()? {
            if kind == "plain" {
                // Nothing of this touches the store.
                line(Did::Effect)?;
                sleep(STEP * 2).await;
                continue;
            }
            let mut is_new = false;
            let step = async {
                line(Did::Once(number))?;
                is_new = true;
                sleep(STEP).await;
                Ok::<_, io::Error>(number)
            };
            updates.once(&format!("step {number}"), step).await?;
            if is_new {
                line(Did::Effect)?;
                sleep(STEP).await;
            }
        }
        updates.complete(()).await?;
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

/// Serves the agent until the process is killed.
pub(crate) async fn serve(words: impl Iterator<Item = String>) -> Result<(), BoxError> {
    let arguments = Arguments::parse(words)?;
    let store = arguments.store().await?;
    let executor = Steps { node: arguments.node, journal: arguments.journal };
    let card = AgentCard::new("Steps", "Does things once, and writes them down");
    let config = EngineConfig::default().with_max_reruns(MAX_RERUNS);
    let engine = Engine::builder(card, executor).shared_store(store).config(config).build();
    let listener = TcpListener::bind(("127.0.0.1", arguments.port)).await?;
    println!("Listening: {}", listener.local_addr()?);
    Server::from(engine).serve(listener, std::future::pending()).await?;
    Ok(())
}
