//! An engine: runs an [`AgentExecutor`] behind the eleven operations.
//!
//! A task owns its execution: a connection only watches. Each task that is worked on is one
//! entry with its log of events; readers keep a cursor into it. A change is stored before anyone
//! sees it.

mod cluster;
mod config;
mod executor;
mod limits;
mod operations;
mod outbox;
mod runtime;
mod slots;
mod task;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod testing;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize},
    },
    time::Duration,
};

use a2a_core::{
    Error, Result,
    v1::{AgentCard, Task},
};
use async_trait::async_trait;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use config::EngineConfig;
pub use limits::{CallerLimits, RunLimits, TaskLimits};
pub use operations::Exchange;
pub(crate) use runtime::Handle;
pub use task::TaskLimit;
pub(crate) use task::TurnRequest;

use crate::{
    AgentError, AgentExecutor, CancelContext, MemoryStore, PushSender, Recovery, RequestContext,
    Scope, Store, TaskUpdater,
    extension::{Extension, Registered, idempotency_key},
};
use cluster::Cluster;
use operations::{Registrations, Replies};
use outbox::Outbox;
use runtime::{Entry, Registry};
use slots::Slots;
use task::{LiveTask, Log};

/// An agent made of an [`AgentExecutor`], a store and a card. Clones are the same engine.
///
/// ```
/// use a2a_core::AgentCard;
/// use a2a_operations::{Engine, agent_fn};
///
/// let card = AgentCard::new("Echo", "Says what it hears");
/// let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
/// ```
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    agent: Served,
    store: Arc<dyn Store>,
    config: EngineConfig,
    push: Push,
    entries: Registry,
    cluster: Cluster,
    load: Load,
    /// The messages that were answered with a message.
    replies: Replies,
    /// Executors, cancels, writers and webhooks at work.
    tasks: TaskTracker,
    /// Whether the engine does what it does by itself.
    started: AtomicBool,
    /// Cancelled when the engine shuts down.
    draining: CancellationToken,
}

/// The agent that an engine serves.
struct Served {
    card: AgentCard,
    extended_card: Option<AgentCard>,
    executor: Arc<dyn DynExecutor>,
    extensions: Registered,
}

/// How events reach webhooks.
struct Push {
    sender: Option<Arc<dyn PushSender>>,
    /// Who calls the webhooks, where there is a sender.
    outbox: Option<Outbox>,
    /// Webhooks that are being registered.
    registrations: Registrations,
}

/// How much an engine is at.
#[derive(Default)]
struct Load {
    /// How many executors are at work, those in `ask` not counted.
    running: AtomicUsize,
    /// How many executors wait in `ask`.
    asking: AtomicUsize,
    /// The tasks of each caller that are worked on.
    slots: Arc<Slots>,
}

/// Makes an [`Engine`].
#[derive(Debug)]
#[must_use]
pub struct EngineBuilder {
    card: AgentCard,
    extended_card: Option<AgentCard>,
    executor: Executor,
    store: Option<Arc<dyn Store>>,
    push: Option<Arc<dyn PushSender>>,
    extensions: Registered,
    declares_idempotency_key: bool,
    config: EngineConfig,
}

struct Executor(Arc<dyn DynExecutor>);

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Executor")
    }
}

impl Engine {
    /// Creates an engine that keeps its tasks in memory.
    pub fn new(card: AgentCard, executor: impl AgentExecutor) -> Self {
        Self::builder(card, executor).build()
    }

    /// Starts to make an engine with a store, bounds or an extended card of its own.
    pub fn builder(card: AgentCard, executor: impl AgentExecutor) -> EngineBuilder {
        EngineBuilder {
            card,
            extended_card: None,
            executor: Executor(Arc::new(executor)),
            store: None,
            push: None,
            extensions: Registered::default(),
            declares_idempotency_key: true,
            config: EngineConfig::default(),
        }
    }

    /// The card, as it was given. Servers fill in the interfaces.
    pub fn card(&self) -> &AgentCard {
        &self.inner.agent.card
    }

    /// Takes over what an earlier process left behind, renews leases, follows other nodes and
    /// delivers to webhooks, from now on. Within a tokio runtime an engine does so from the
    /// start, outside of one from its first call on.
    pub fn start(&self) {
        self.inner.start();
    }

    /// Stops: accepts no more messages, ends every stream with an error that says to resume
    /// elsewhere, and gives the executors until `grace` before they are dropped. What they were
    /// at is left to other nodes, or to the next start.
    pub async fn shutdown(&self, grace: Duration) {
        self.inner.draining.cancel();
        self.inner.tasks.close();
        for entry in self.inner.entries.all() {
            // An executor that waits for a message needs no grace period: the next message reruns it.
            entry.change(LiveTask::drop_asking);
        }
        if tokio::time::timeout(grace, self.inner.tasks.wait()).await.is_err() {
            for entry in self.inner.entries.all() {
                entry.change(LiveTask::drop_executor);
            }
            // They say what they were at, and let go of it.
            let _ = tokio::time::timeout(LAST_WRITES, self.inner.tasks.wait()).await;
        }
    }
}

/// How long the store may take for the last writes of executors that were dropped.
const LAST_WRITES: Duration = Duration::from_secs(2);

impl EngineBuilder {
    /// Keeps tasks in `store`.
    pub fn store(self, store: impl Store) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Keeps tasks in a store that others hold too. It still belongs to one engine only.
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets bounds and times.
    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the card for authenticated callers, and says in the public one that there is one.
    pub fn extended_card(mut self, card: AgentCard) -> Self {
        self.card = self.card.with_extended_card(true);
        self.extended_card = Some(card);
        self
    }

    /// Calls webhooks through `sender`, and says so in the card.
    pub fn push_sender(mut self, sender: impl PushSender) -> Self {
        self.card = self.card.with_push_notifications(true);
        self.push = Some(Arc::new(sender));
        self
    }

    /// Offers an extension, and says so in the cards. It is at work for callers that ask for it.
    /// One with the same URI is replaced; a card that declares the URI itself keeps its words.
    ///
    /// # Panics
    ///
    /// Where the URI is empty, or has a comma or a blank in it: it could not be asked for.
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.extensions.add(Arc::new(extension));
        self
    }

    /// Does not declare [`IDEMPOTENCY_KEY`](crate::extension::IDEMPOTENCY_KEY) in the card, for an
    /// agent whose sends are not to be repeated. Keys that come are honored still.
    pub fn without_idempotency_key(mut self) -> Self {
        self.declares_idempotency_key = false;
        self
    }

    /// Makes the engine.
    pub fn build(self) -> Engine {
        let declare = |card: AgentCard| {
            let card = self.extensions.declare(card);
            if self.declares_idempotency_key { idempotency_key::declare(card) } else { card }
        };
        let card = declare(self.card);
        let extended_card = self.extended_card.map(declare);
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let draining = CancellationToken::new();
        let outbox = self
            .push
            .as_ref()
            .map(|push| Outbox::new(store.clone(), Arc::clone(push), &self.config, &draining));
        let engine = Engine {
            inner: Arc::new(Inner {
                agent: Served {
                    card,
                    extended_card,
                    executor: self.executor.0,
                    extensions: self.extensions,
                },
                cluster: Cluster::new(store.signals()),
                store,
                push: Push { sender: self.push, outbox, registrations: Registrations::default() },
                config: self.config,
                entries: Registry::new(),
                load: Load::default(),
                replies: Replies::default(),
                tasks: TaskTracker::new(),
                started: AtomicBool::new(false),
                draining,
            }),
        };
        engine.inner.start();
        engine
    }
}

impl Inner {
    /// Finds the entry of a task, or makes one from the store.
    async fn find_or_load(
        self: &Arc<Self>,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Option<Handle>> {
        if let Some(entry) = self.entries.find(scope, task_id) {
            let handle = Handle::new(Arc::clone(self), entry);
            handle.wait(|live| (!live.is_appearing()).then_some(())).await;
            return Ok(Some(handle));
        }
        let stored = self.store.get(scope, task_id).await.map_err(Error::from)?;
        let Some(stored) = stored else { return Ok(None) };
        let entry = self.entries.insert(Entry::stored(self, scope.clone(), stored));
        let handle = Handle::new(Arc::clone(self), entry);
        if self.cluster.is_shared {
            // What other nodes wrote between the look into the store and now was not noted.
            handle.catch_up().await?;
        }
        Ok(Some(handle))
    }

    /// An empty log behind position `last`.
    fn empty_log(&self, last: u64) -> Log {
        Log::new(last, self.config.max_log_events, self.config.max_log_bytes)
    }

    /// Returns a task as callers see it.
    async fn task(self: &Arc<Self>, scope: &Scope, task_id: &str) -> Result<Option<Arc<Task>>> {
        if let Some(entry) = self.entries.find(scope, task_id) {
            let handle = Handle::new(Arc::clone(self), entry);
            let live = handle.lock();
            // A task that another node works on may have moved on in the store. So may one that
            // this node holds, if it was paused for so long that another has taken it.
            let is_fresh = || self.cluster.renewed.elapsed() < self.config.lease_renewal * 2;
            let is_current = !self.cluster.is_shared || live.is_here() && is_fresh();
            if live.is_stored() && is_current {
                return Ok(Some(Arc::clone(&live.task)));
            }
        }
        let stored = self.store.get(scope, task_id).await.map_err(Error::from)?;
        Ok(stored.map(|stored| stored.task))
    }
}

/// The time, which a paused clock of a test stops too.
fn now() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}

/// An executor behind a pointer: the engine erases its type once, so that it is compiled once.
#[async_trait]
trait DynExecutor: Send + Sync {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> Result<(), AgentError>;

    async fn cancel(&self, context: CancelContext);

    fn recovery(&self) -> Recovery;

    fn run_limits(&self) -> RunLimits;
}

#[async_trait]
impl<E: AgentExecutor> DynExecutor for E {
    async fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> Result<(), AgentError> {
        AgentExecutor::execute(self, context, updates).await
    }

    async fn cancel(&self, context: CancelContext) {
        AgentExecutor::cancel(self, context).await;
    }

    fn recovery(&self) -> Recovery {
        AgentExecutor::recovery(self)
    }

    fn run_limits(&self) -> RunLimits {
        AgentExecutor::run_limits(self)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("agent", &self.inner.agent.card.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("agent", &self.agent.card.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::{Message, SendMessageRequest, SubscribeToTaskRequest};
    use futures_util::StreamExt as _;

    use super::*;
    use crate::{Agent as _, Call, agent_fn};

    fn send(text: &str) -> Call<SendMessageRequest> {
        let message = Some(Message::user(text));
        Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_task_that_nobody_works_on_or_watches() {
        let engine = Engine::new(AgentCard::new("a", "b"), agent_fn(async |text: String| text));
        let mut streams = Vec::new();
        for _ in 0..10 {
            engine.send_message(send("x")).await.unwrap();
            streams.push(engine.send_streaming_message(send("y")).await.unwrap().response);
        }
        assert!(engine.inner.entries.len() >= 10, "streams that are open are counted");
        for mut stream in streams {
            let first = stream.next().await.unwrap().unwrap();
            let id = first.task().unwrap().id.clone();
            drop(stream);
            let request = SubscribeToTaskRequest { id, ..SubscribeToTaskRequest::default() };
            let _ = engine.subscribe_to_task(Call::new(request)).await;
        }
        engine.inner.tasks.close();
        engine.inner.tasks.wait().await;
        assert_eq!(engine.inner.entries.len(), 0);
        assert_eq!(engine.inner.load.running.load(std::sync::atomic::Ordering::Relaxed), 0);
        assert_eq!(engine.inner.load.slots.callers(), 0);
    }
}
