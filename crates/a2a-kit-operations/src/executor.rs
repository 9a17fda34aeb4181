//! The interface for agent authors.

use std::{error::Error as StdError, fmt, future::Future};

use crate::{RunLimits, TaskUpdater};

pub use context::{CancelContext, RequestContext};

mod context;

/// The logic of an agent: handles one message of a task at a time.
///
/// An [`Engine`](crate::Engine) runs each task in its own tokio task. Tasks run concurrently; the
/// messages of one task are handled in order.
///
/// ```
/// use a2a_kit_operations::{AgentError, AgentExecutor, RequestContext, TaskUpdater};
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
    /// Handles one message. Returning without a terminal state leaves the task unchanged; an error
    /// or a panic fails it.
    fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> impl Future<Output = Result<(), AgentError>> + Send;

    /// Called when the client cancels the task, concurrently with `execute`. It may run for the
    /// grace period, even if `execute` returns earlier. The default does nothing: the engine
    /// signals [`RequestContext::cancelled`], waits for the grace period, drops `execute` and sets
    /// CANCELED.
    fn cancel(&self, context: CancelContext) -> impl Future<Output = ()> + Send {
        let _ = context;
        std::future::ready(())
    }

    /// What to do with a task whose node stopped or crashed during `execute`.
    fn recovery(&self) -> Recovery {
        Recovery::Fail
    }

    /// Limits of one run of `execute`. Beyond them its future is dropped and the task is FAILED. By
    /// default only the limits of the [engine](crate::EngineConfig::run_limits) apply; otherwise
    /// the shorter ones do.
    fn run_limits(&self) -> RunLimits {
        RunLimits::default()
    }
}

/// What to do with a task whose node failed during [`AgentExecutor::execute`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// The task is FAILED, with an explanation.
    #[default]
    Fail,
    /// `execute` is rerun with the same message and the current task, on this node or another. It
    /// has to be idempotent; [`RequestContext::is_rerun`] is set. After
    /// [`max_reruns`](crate::EngineConfig::max_reruns) in a row the task is FAILED.
    Rerun,
}

/// Why an executor failed: a public message, and a cause for the log only.
///
/// Any error converts by `?`, with a generic message.
#[derive(Debug)]
pub struct AgentError {
    message: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl AgentError {
    /// Creates an error with a public message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), source: None }
    }

    /// Adds a cause for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The public message; without one, the caller gets an error id.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The cause, for the log only.
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
