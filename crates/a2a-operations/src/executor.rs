//! What a person writes to make an agent.

use std::{error::Error as StdError, fmt, future::Future};

use crate::{RunLimits, TaskUpdater};

pub use context::{CancelContext, RequestContext};

mod context;

/// The code behind an agent: handles one message at a time for a task.
///
/// An [`Engine`](crate::Engine) runs each task in a tokio task of its own. Several tasks run side
/// by side; the messages of one task are handled one after the other.
///
/// ```
/// use a2a_operations::{AgentError, AgentExecutor, RequestContext, TaskUpdater};
///
/// struct Greeter;
///
/// impl AgentExecutor for Greeter {
///     async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), AgentError> {
///         updates.start().await?;
///         let name = updates.ask("What is your name?").await?;
///         updates.complete(format!("Hello, {}!", name.text())).await?;
///         Ok(())
///     }
/// }
/// ```
pub trait AgentExecutor: Send + Sync + 'static {
    /// Handles one message. Returning without a terminal state leaves the task as it is; an
    /// error or a panic fails it.
    fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> impl Future<Output = Result<(), AgentError>> + Send;

    /// Called when the client cancels the task, concurrently with `execute`. It has the grace
    /// period to return, even if `execute` returns earlier. The default does nothing: the engine
    /// signals [`RequestContext::cancelled`], waits for the grace period, drops `execute` and sets
    /// CANCELED.
    fn cancel(&self, context: CancelContext) -> impl Future<Output = ()> + Send {
        let _ = context;
        std::future::ready(())
    }

    /// What becomes of a task whose node stopped or crashed in the middle of `execute`.
    fn recovery(&self) -> Recovery {
        Recovery::Fail
    }

    /// How long `execute` may work on one message. Beyond it, its future is dropped and the task
    /// is FAILED. By default only what the [engine](crate::EngineConfig::run_limits) says holds;
    /// the shorter times do where both say something.
    fn run_limits(&self) -> RunLimits {
        RunLimits::default()
    }
}

/// What becomes of a task whose node is gone in the middle of [`AgentExecutor::execute`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// The task is FAILED, with a text that says why.
    #[default]
    Fail,
    /// `execute` is run again with the same message and the task as it stands, on this node or
    /// another. What it does has to bear being done twice;
    /// [`RequestContext::is_rerun`] tells it. After
    /// [`max_reruns`](crate::EngineConfig::max_reruns) in a row the task is FAILED.
    Rerun,
}

/// Why an executor failed: a text that the caller reads, and a cause that only the log gets.
///
/// Any error becomes one by `?`, with a text that tells nothing of the cause.
#[derive(Debug)]
pub struct AgentError {
    message: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl AgentError {
    /// Creates an error whose text the caller reads.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), source: None }
    }

    /// Keeps the cause for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The text that the caller reads; without one, the caller gets an error id.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The cause that only the log gets.
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().unwrap_or("the agent failed"))
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for AgentError {
    fn from(error: E) -> Self {
        Self { message: None, source: Some(Box::new(error)) }
    }
}
