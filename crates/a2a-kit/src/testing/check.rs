//! The laws of executors, and the settings of a check.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use a2a_core::AgentCard;
use a2a_kit_client::MessageRequest;
use a2a_kit_operations::{
    AgentExecutor, BoxError, Caller, CancelContext, Engine, EngineConfig, Recovery, RequestContext,
    RunLimits, TaskUpdater, UpdateError,
    store::{KeyValue, SingleNode, StoreError},
};
use async_trait::async_trait;
use axum::body::Bytes;

use super::{DEFAULT_TIMEOUT, client_as};
use crate::Client;

/// What every executor has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Law {
    /// The message leads to a response, a question or COMPLETED. Otherwise the check exercises
    /// nothing else: set a message that the executor accepts.
    MessageIsAccepted,
    /// Each message is answered, or brings its task to a terminal or an interrupted state.
    MessageIsAnswered,
    /// The first chunk of an artifact does not append, later ones do, and none follows the last.
    ChunksAreInOrder,
    /// A task is COMPLETED only after the last chunk of each artifact.
    ChunksAreComplete,
    /// There is no update of a task that has ended.
    EndIsFinal,
    /// The executor reacts to a cancellation within the grace period.
    CancelIsObserved,
    /// The work goes on after a caller has dropped the stream.
    CallersMayLeave,
    /// A task that a crash interrupts is recovered as the executor declares: FAILED, or run again to
    /// an end.
    CrashIsRecovered,
}

/// A violated law.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The law.
    pub law: Law,
    /// What happened.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.law, self.found)
    }
}

/// A check with settings.
///
/// ```
/// use a2a_kit::{Caller, agent_fn, testing::Check};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let violations = Check::new(|| agent_fn(async |text: String| text))
///     .with_message("plan a trip to Rome")
///     .with_answer("in May")
///     .with_caller(Caller::authenticated("ann"))
///     .run()
///     .await;
/// assert_eq!(violations, []);
/// # }
/// ```
#[must_use]
pub struct Check<F> {
    executor: F,
    pub(super) message: MessageRequest,
    pub(super) answers: Vec<MessageRequest>,
    pub(super) caller: Caller,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
}

impl<E: AgentExecutor, F: Fn() -> E> Check<F> {
    /// Creates a check of the executors that the closure creates.
    pub fn new(executor: F) -> Self {
        Self {
            executor,
            message: "Hello".into(),
            answers: Vec::new(),
            caller: Caller::ANONYMOUS,
            timeout: DEFAULT_TIMEOUT,
            grace: Duration::from_secs(1),
        }
    }

    /// Sets the message: a text, a [`Part`](crate::Part) such as `Part::json`, a
    /// [`Message`](crate::Message) or a whole request. Default: "Hello".
    pub fn with_message(mut self, message: impl Into<MessageRequest>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds an answer to the executor's questions, in order; the last one is repeated, up to 16
    /// answers in all. Default: "yes".
    pub fn with_answer(mut self, answer: impl Into<MessageRequest>) -> Self {
        self.answers.push(answer.into());
        self
    }

    /// Sets the caller. Default: an anonymous one.
    pub fn with_caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// Sets how long to wait for each event. Default: [`DEFAULT_TIMEOUT`].
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the grace period of cancellations. Default: 1 s.
    pub fn with_cancel_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    pub(super) fn recovery(&self) -> Recovery {
        (self.executor)().recovery()
    }

    pub(super) fn client(&self, engine: &Engine) -> Client {
        client_as(engine, self.caller.clone())
    }

    /// Starts an agent on what an earlier one wrote.
    pub(super) async fn engine(&self, pairs: &CrashablePairs, late: &LateUpdates) -> Engine {
        let card = AgentCard::new("Checked", "An agent under test").with_input_modes(["*/*"]);
        let executor = Watched { executor: (self.executor)(), late: late.clone() };
        let config = EngineConfig::default().with_cancel_grace(self.grace);
        match SingleNode::open(pairs.clone()).await {
            Ok(store) => Engine::builder(card, executor).store(store).config(config).build(),
            Err(error) => panic!("the store of the check failed: {error:?}"),
        }
    }
}

impl<F> fmt::Debug for Check<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("message", &self.message).finish_non_exhaustive()
    }
}

/// Whether an update was rejected because its task had ended.
#[derive(Clone, Debug, Default)]
pub(super) struct LateUpdates(Arc<AtomicBool>);

impl LateUpdates {
    pub(super) fn seen(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Notices updates that come too late.
struct Watched<E> {
    executor: E,
    late: LateUpdates,
}

impl<E: AgentExecutor> AgentExecutor for Watched<E> {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let request = context.clone();
        let result = self.executor.execute(context, updates).await;
        let error = result.as_ref().err();
        let is_late = error.and_then(|error| error.downcast_ref()) == Some(&UpdateError::Ended);
        self.late.0.fetch_or(is_late && !request.is_cancelled(), Ordering::Relaxed);
        result
    }

    async fn cancel(&self, context: CancelContext) {
        self.executor.cancel(context).await;
    }

    fn recovery(&self) -> Recovery {
        self.executor.recovery()
    }

    fn run_limits(&self) -> RunLimits {
        self.executor.run_limits()
    }
}

type Pairs = BTreeMap<String, Bytes>;

/// A key-value store whose state at one moment can be copied, as a crash would leave it.
#[derive(Clone, Debug, Default)]
pub(super) struct CrashablePairs(Arc<Mutex<Pairs>>);

impl CrashablePairs {
    /// Copies what is written.
    pub(super) fn crash(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    fn lock(&self) -> MutexGuard<'_, Pairs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl KeyValue for CrashablePairs {
    async fn load(&self) -> Result<Vec<(String, Bytes)>, StoreError> {
        Ok(self.lock().clone().into_iter().collect())
    }

    async fn write(&self, changes: &[(String, Option<Bytes>)]) -> Result<(), StoreError> {
        let mut pairs = self.lock();
        for (key, value) in changes.iter().cloned() {
            match value {
                Some(value) => pairs.insert(key, value),
                None => pairs.remove(&key),
            };
        }
        Ok(())
    }
}
