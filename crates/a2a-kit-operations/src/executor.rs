//! The interface for agent authors.

use std::future::Future;

use crate::{RunLimits, TaskUpdater};

pub use context::{CancelContext, RequestContext};
pub use error::{AgentError, BoxError};
pub(crate) use error::{ForLog, public_message};

mod context;
mod error;

/// The logic of an agent: handles one message of a task at a time.
///
/// An [`Engine`](crate::Engine) runs each task in its own tokio task. Tasks run concurrently; the
/// messages of one task are handled in order.
///
/// ```
/// use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, TaskUpdater};
///
/// struct Greeter;
///
/// impl AgentExecutor for Greeter {
///     async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
///         updates.start().await?;
///         let name = updates.ask("What is your name?").await?;
///         updates.complete(format!("Hello, {}!", name.text())).await?;
///         Ok(())
///     }
/// }
/// ```
///
/// # Cancellation
///
/// When the client cancels, the engine drops `execute` and sets CANCELED. An executor that has
/// something to do first races its work against [`RequestContext::cancelled`]:
///
/// ```
/// # use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, TaskUpdater};
/// # struct Planner;
/// # impl Planner {
/// #     async fn plan(&self, updates: &TaskUpdater) -> Result<(), BoxError> {
/// #         let city = updates.ask("Where to?").await?;
/// #         Ok(updates.complete(format!("{}, then", city.text())).await?)
/// #     }
/// # }
/// impl AgentExecutor for Planner {
///     async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
///         tokio::select! {
///             biased;
///             () = context.cancelled() => Ok(updates.cancel("Nothing was booked").await?),
///             done = self.plan(&updates) => done,
///         }
///     }
/// }
/// ```
///
/// It has the [grace period](crate::EngineConfig::cancel_grace) for that. So has an executor that
/// has called [`RequestContext::is_cancelled`], that waits in [`TaskUpdater::ask`] or that implements
/// [`cancel`](Self::cancel). Any other cannot notice the cancel, and is dropped at once.
pub trait AgentExecutor: Send + Sync + 'static {
    /// Handles one message. Returning without a terminal state leaves the task unchanged, with a
    /// warning in the log unless it waits for input or authorization; an error or a panic fails it.
    /// Callers see the message of an [`AgentError`], and only an error id of
    /// any other error, whose text goes to the log.
    fn execute(
        &self,
        context: RequestContext,
        updates: TaskUpdater,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Called when the client cancels the task, concurrently with `execute`. It may run for the
    /// [grace period](crate::EngineConfig::cancel_grace), even if `execute` returns earlier. The
    /// default leaves the cancel to the engine; see [Cancellation](Self#cancellation).
    fn cancel(&self, context: CancelContext) -> impl Future<Output = ()> + Send {
        context.leave_to_the_engine();
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
///
/// A node that [shuts down](crate::Engine::shutdown) first gives executors time to finish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// The task is FAILED, with an explanation; INPUT_REQUIRED if the node was shut down.
    #[default]
    Fail,
    /// `execute` is rerun with the same message and the current task, on this node or another. It
    /// has to be idempotent; [`RequestContext::is_rerun`] is set. After
    /// [`max_reruns`](crate::EngineConfig::max_reruns) in a row the task is FAILED.
    Rerun,
}
