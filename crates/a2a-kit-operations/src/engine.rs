//! An engine: runs an [`AgentExecutor`] behind the eleven operations.
//!
//! A task owns its execution; connections only watch. Each active task is one entry with an event
//! log, into which readers keep a cursor. A change is stored before it becomes visible.

mod cluster;
mod config;
mod executor;
mod limits;
mod operations;
mod outbox;
mod runtime;
mod task;
#[cfg(feature = "testing")]
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
    well_known::Timestamp,
};
use futures_util::future::BoxFuture;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use config::{EngineConfig, PushConfig};
pub use limits::{CallerLimits, LogLimits, RunLimits, TaskLimits};
pub use operations::{DirectReply, list_stored};
pub(crate) use runtime::Handle;
pub use task::ExceededLimit;
pub(crate) use task::TurnRequest;

use crate::{
    AgentExecutor, BoxError, CancelContext, MemoryStore, PushSender, Recovery, RequestContext,
    Scope, Store, TaskUpdater,
    caller_counts::CallerCounts,
    extension::{Extension, Registered, idempotency_key},
};
use cluster::Cluster;
use operations::{Registrations, Replies};
use outbox::Outbox;
use runtime::{Entry, Registry};
use task::{LiveTask, Log};

/// An agent built from an [`AgentExecutor`], a store and a card. Clones share one engine.
///
/// ```
/// use a2a_core::AgentCard;
/// use a2a_kit_operations::{Engine, agent_fn};
///
/// let card = AgentCard::new("Echo", "Repeats its input");
/// let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
/// ```
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    agent: ServedAgent,
    pub(crate) store: Arc<dyn Store>,
    config: EngineConfig,
    push: Push,
    entries: Registry,
    cluster: Cluster,
    load: Load,
    /// Exchanges that were answered with a message.
    pub(crate) replies: Replies,
    /// Running executors, cancels, writers and webhook deliveries.
    tasks: TaskTracker,
    /// Whether the background tasks were started.
    started: AtomicBool,
    /// Cancelled when the engine shuts down.
    draining: CancellationToken,
}

/// The agent that an engine serves.
struct ServedAgent {
    card: AgentCard,
    extended_card: Option<AgentCard>,
    executor: Arc<dyn DynExecutor>,
    extensions: Registered,
}

/// Webhook delivery.
struct Push {
    sender: Option<Arc<dyn PushSender>>,
    /// Delivers to webhooks, if there is a sender.
    outbox: Option<Outbox>,
    /// Serializes the registration of webhooks.
    registrations: Registrations,
}

/// The load of an engine.
#[derive(Default)]
struct Load {
    /// Running executors, except those waiting in `ask`.
    running: AtomicUsize,
    /// Executors waiting in `ask`.
    asking: AtomicUsize,
    /// Running tasks and drafts per caller.
    counts: CallerCounts,
}

/// Builds an [`Engine`].
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

a2a_core::debug_fields!(Executor(..));

impl Engine {
    /// Creates an engine with a memory store.
    pub fn new(card: AgentCard, executor: impl AgentExecutor) -> Self {
        Self::builder(card, executor).build()
    }

    /// Creates a builder, to set a store, limits or an extended card.
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

    /// The card, as given. Servers add the interfaces.
    pub fn card(&self) -> &AgentCard {
        &self.inner.agent.card
    }

    /// Starts the background tasks: takeover of interrupted tasks, lease renewal, signals of other
    /// nodes, and webhook delivery. Inside a tokio runtime they start with the engine, otherwise
    /// with the first call.
    pub fn start(&self) {
        self.inner.start();
    }

    /// Shuts down: rejects new messages, ends every stream with a resumable error, drops executors
    /// that are still running after `grace`, and closes the store. A second call ends the grace
    /// period of the first.
    ///
    /// A dropped executor does not fail its task. With [`Recovery::Rerun`], another node reruns it,
    /// or this one at the next start. With [`Recovery::Fail`], the task becomes INPUT_REQUIRED, so
    /// that its caller decides whether to continue. A task in a memory store is lost.
    pub async fn shutdown(&self, grace: Duration) {
        self.inner.draining.cancel();
        self.inner.tasks.close();
        for handle in self.inner.handles() {
            // The next message reruns a waiting executor, so it needs no grace period.
            handle.change(LiveTask::drop_asking);
        }
        if tokio::time::timeout(grace, self.inner.tasks.wait()).await.is_err() {
            let handles = self.inner.handles();
            let tasks = handles.len();
            tracing::info!(tasks, "interrupting tasks, the grace period has expired");
            let reruns = self.inner.agent.executor.recovery() == Recovery::Rerun;
            for handle in handles {
                handle.change(|live| live.stop(reruns, moment()));
            }
            // Interrupted executors write a checkpoint and release their leases.
            let _ = tokio::time::timeout(LAST_WRITES, self.inner.tasks.wait()).await;
        }
        let _ = tokio::time::timeout(LAST_WRITES, self.inner.store.close()).await;
    }
}

/// Timeout for the last writes of dropped executors, and for closing the store.
const LAST_WRITES: Duration = Duration::from_secs(2);

impl EngineBuilder {
    /// Sets the store.
    pub fn store(self, store: impl Store) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Sets a store that is shared with the application. It still belongs to one engine only, which
    /// closes it when it shuts down.
    pub fn shared_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets limits and timeouts.
    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the card for authenticated callers, and declares it in the public card.
    pub fn extended_card(mut self, card: AgentCard) -> Self {
        self.card = self.card.with_extended_card(true);
        self.extended_card = Some(card);
        self
    }

    /// Delivers to webhooks through `sender`, and declares push notifications in the card.
    pub fn push_sender(mut self, sender: impl PushSender) -> Self {
        self.card = self.card.with_push_notifications(true);
        self.push = Some(Arc::new(sender));
        self
    }

    /// Adds an extension and declares it in the cards. It is active for callers that request it. An
    /// extension with the same URI is replaced; a declaration in the card takes precedence.
    ///
    /// # Panics
    ///
    /// If the URI is empty, or contains a comma or whitespace, so that it could not be requested.
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.extensions.add(Arc::new(extension));
        self
    }

    /// Does not declare [`IDEMPOTENCY_KEY`](crate::extension::IDEMPOTENCY_KEY) in the card, for an
    /// agent whose sends must not be retried. Keys that are sent are still honored.
    pub fn without_idempotency_key(mut self) -> Self {
        self.declares_idempotency_key = false;
        self
    }

    /// Builds the engine.
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
                agent: ServedAgent {
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
    /// The active tasks.
    fn handles(self: &Arc<Self>) -> Vec<Handle> {
        let entries = self.entries.all().into_iter();
        entries.map(Handle::new).collect()
    }

    /// An active task in any scope: for signals of other nodes, never for callers.
    fn active(self: &Arc<Self>, task_id: &str) -> Option<Handle> {
        self.entries.find_any(task_id).map(Handle::new)
    }

    /// Finds the entry of a task, or loads it from the store.
    async fn find_or_load(
        self: &Arc<Self>,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Option<Handle>> {
        let entry = match self.entries.find(scope, task_id) {
            Some(entry) => entry,
            None => {
                let stored = self.store.get(scope, task_id).await.map_err(Error::from)?;
                let Some(stored) = stored else { return Ok(None) };
                self.entries.insert(Entry::stored(self, scope.clone(), stored))
            }
        };
        let handle = Handle::new(entry);
        if !handle.wait(LiveTask::has_loaded).await {
            // Others may have written between the read and the registration: this node, if its
            // entry is already gone, or another one.
            handle.catch_up().await?;
            handle.change_silently(LiveTask::loaded);
        }
        let is_removed = handle.lock().is_removed();
        Ok((!is_removed).then_some(handle))
    }

    /// An empty log that continues after position `last`.
    fn empty_log(&self, last: u64) -> Log {
        Log::new(last, self.config.log_limits.max_events, self.config.log_limits.max_bytes)
    }

    /// Returns a task as visible to callers, and the position of its newest event: never older than
    /// what any node has shown of it.
    async fn task(
        self: &Arc<Self>,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Option<(Arc<Task>, u64)>> {
        let entry = self.entries.find(scope, task_id);
        let handle = entry.map(Handle::new);
        if let Some(current) = handle.and_then(|handle| self.current(&handle.lock())) {
            return Ok(Some(current));
        }
        let stored = self.store.get(scope, task_id).await.map_err(Error::from)?;
        Ok(stored.map(|stored| (stored.task, stored.last_event.get())))
    }

    /// The task of an entry and the position of its newest event, unless the store may be ahead:
    /// another node holds the task, or has taken it over because this node was paused past its
    /// lease; or a write of this node has been stored but not yet confirmed, so that a list has
    /// shown it.
    fn current(&self, live: &LiveTask) -> Option<(Arc<Task>, u64)> {
        let is_fresh = || self.cluster.last_renewal.elapsed() < self.config.lease_renewal * 2;
        live.current(|is_here| !self.cluster.is_shared || is_here && is_fresh())
    }
}

/// The current time, which tests can pause.
pub(crate) fn now() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}

/// The time of a transition.
fn moment() -> task::Now {
    task::Now { instant: now(), time: Timestamp::now() }
}

/// An executor behind a pointer: erasing its type once lets the engine be compiled once.
trait DynExecutor: Send + Sync {
    fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> BoxFuture<'_, Result<(), BoxError>>;

    fn cancel(&self, context: CancelContext) -> BoxFuture<'_, ()>;

    fn recovery(&self) -> Recovery;

    fn run_limits(&self) -> RunLimits;
}

impl<E: AgentExecutor> DynExecutor for E {
    fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(AgentExecutor::execute(self, context, updates))
    }

    fn cancel(&self, context: CancelContext) -> BoxFuture<'_, ()> {
        Box::pin(AgentExecutor::cancel(self, context))
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
    async fn idle_tasks_leave_the_registry() {
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
        assert_eq!(engine.inner.load.counts.callers(), 0);
    }
}
