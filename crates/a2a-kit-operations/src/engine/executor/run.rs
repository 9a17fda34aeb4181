//! The run loop of an executor.

use std::{cell::Cell, panic::AssertUnwindSafe, sync::atomic::Ordering, time::Duration};

use a2a_core::fresh_id;
use futures_util::FutureExt as _;
use tracing::{Instrument as _, Span};

use super::batch::Batched;
use crate::{
    AgentLabel, BoxError, RequestContext, TaskUpdater,
    engine::{
        moment, now,
        runtime::Handle,
        task::{Left, LiveTask, Relevance, RunEnd, Start, StartMode, TurnRequest},
    },
    executor::{ForLog, public_message},
    metrics, trace,
};

impl Handle {
    /// Runs the executor for an accepted message, and for the messages queued behind it.
    pub(crate) fn start_run(&self, Start { turn, generation, mode }: Start) {
        self.inner.load.running.fetch_add(1, Ordering::Relaxed);
        let tracked = self.inner.tasks.track_future(run(self.clone(), generation, turn));
        // Boxed, because tokio aligns the allocation of a task to cache lines, which is slow for
        // all but small sizes.
        let mut running = Box::pin(tracked);
        let is_over = mode == StartMode::Inline
            && INSIDE.with(|inside| {
                // Agents that call each other would overflow the stack.
                if inside.replace(true) {
                    return false;
                }
                let is_over = (&mut running).now_or_never().is_some();
                inside.set(false);
                is_over
            });
        if !is_over {
            tokio::spawn(running);
        }
    }
}

thread_local! {
    /// Whether an executor is running inline on this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

async fn run(handle: Handle, generation: u64, first: TurnRequest) {
    let mut turn = Some(first);
    while let Some(request) = turn {
        let begun = now();
        let (task, context) = (&handle.task_id, &handle.context_id);
        let span = trace::execution(task, context, &request.call, request.rerun);
        let outcome = execute(&handle, generation, request).instrument(span.clone()).await;
        let ended = moment();
        outcome.count(handle.inner.config.metrics_label, &span, ended.instant - begun);
        let stops = handle.inner.draining.is_cancelled();
        // Failures are logged within the span of the execution.
        turn = span.in_scope(|| {
            handle.change(|live| {
                let outcome = outcome.into_ended(&handle.task_id, live.relevance(generation));
                live.end_run(generation, outcome, stops, ended)
            })
        });
    }
    handle.inner.load.running.fetch_sub(1, Ordering::Relaxed);
}

/// How a run ended.
enum Outcome {
    Returned,
    Failed(BoxError),
    Panicked(String),
    /// A run limit was exceeded, or the run cannot be resumed; the text is public.
    Expired(String),
    Dropped,
}

impl Outcome {
    fn count(&self, agent: AgentLabel, span: &Span, time: Duration) {
        let (outcome, is_fault) = match self {
            Self::Returned => ("returned", false),
            Self::Failed(_) => ("failed", true),
            Self::Panicked(_) => ("panicked", true),
            Self::Expired(_) => ("expired", true),
            Self::Dropped => (trace::DROPPED, false),
        };
        span.record("a2a.outcome", outcome);
        if is_fault {
            span.record("otel.status_code", "ERROR");
        }
        metrics::executed(agent, outcome, time);
    }

    /// The public outcome; causes go to the log.
    fn into_ended(self, task_id: &str, relevance: Relevance) -> RunEnd {
        match (self, relevance) {
            (Self::Dropped, _) => RunEnd::Dropped,
            (Self::Failed(error), Relevance::Applied(_)) => {
                RunEnd::Failed(failure_text(task_id, &error))
            }
            (Self::Panicked(panic), Relevance::Applied(_) | Relevance::Logged) => {
                RunEnd::Failed(panic_text(task_id, &panic))
            }
            (Self::Expired(text), Relevance::Applied(_) | Relevance::Logged) => {
                let id = fresh_id();
                tracing::warn!(task.id = task_id, error.id = %id, reason = text, "executor dropped");
                RunEnd::Failed(format!("{text} (error {id})"))
            }
            (Self::Returned, Relevance::Applied(Some(state))) => {
                let state = state.as_str_name();
                tracing::warn!(
                    task.id = task_id,
                    state,
                    "executor returned without ending the task"
                );
                RunEnd::Returned
            }
            (Self::Returned | Self::Failed(_) | Self::Panicked(_) | Self::Expired(_), _) => {
                RunEnd::Returned
            }
        }
    }
}

async fn execute(handle: &Handle, generation: u64, request: TurnRequest) -> Outcome {
    if request.is_lost {
        return Outcome::Expired("the conversation could not be resumed".to_owned());
    }
    let extensions = handle.inner.agent.extensions.active(&request.call, &request.message);
    let context = RequestContext { handle: handle.clone(), request };
    let updates = TaskUpdater { handle: handle.clone(), run: generation, extensions };
    let executor = &handle.inner.agent.executor;
    // The executor may panic while creating its future.
    let execution = async move { executor.execute(context, updates).await };
    let execution = std::pin::pin!(AssertUnwindSafe(execution).catch_unwind());
    let execution = Batched::new(handle, execution);
    // Created, in boxes of their own, for executors that wait.
    let dropped = async {
        let signal = handle.drop_signal(generation);
        Box::pin(signal.cancelled()).await;
    };
    let silence = async { Box::pin(silence(handle, generation)).await };
    let result = tokio::select! {
        biased;
        result = execution => result,
        () = dropped => return Outcome::Dropped,
        outcome = silence => return outcome,
    };
    match result {
        Ok(Ok(())) => Outcome::Returned,
        Ok(Err(error)) => Outcome::Failed(error),
        Err(panic) => Outcome::Panicked(
            panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "panic without a message".to_owned()),
        ),
    }
}

/// Makes the task of a silent executor visible, and waits until the run exceeds a limit.
async fn silence(handle: &Handle, generation: u64) -> Outcome {
    tokio::time::sleep(handle.inner.config.submitted_after).await;
    handle.change(|live| live.silent(generation));
    out_of_time(handle, generation).await
}

/// Waits until the run exceeds a limit.
async fn out_of_time(handle: &Handle, generation: u64) -> Outcome {
    let config = &handle.inner.config;
    let limits = config.run_limits.and(handle.inner.agent.executor.run_limits());
    loop {
        let left = handle.lock().left(generation, limits, config.parked_retention, now());
        match left {
            Left::Until(deadline) => tokio::time::sleep_until(deadline.into()).await,
            Left::Forever => std::future::pending().await,
            Left::Expired(text) => return Outcome::Expired(text),
            Left::Parked => {
                // Its question stays open.
                handle.change(LiveTask::drop_executor);
                return Outcome::Dropped;
            }
        }
    }
}

/// The public text of a failure. The cause is logged under the error id in the text.
fn failure_text(task_id: &str, error: &BoxError) -> String {
    let text = match public_message(error) {
        Some((text, ForLog::Nothing)) => {
            tracing::debug!(task.id = task_id, error = text, "executor failed");
            return text.to_owned();
        }
        Some((text, ForLog::Message)) => {
            tracing::warn!(task.id = task_id, error = text, "executor failed");
            return text.to_owned();
        }
        Some((text, ForLog::More)) => text,
        None => "the agent failed",
    };
    let id = fresh_id();
    tracing::error!(task.id = task_id, error.id = %id, error = ?error, "executor failed");
    format!("{text} (error {id})")
}

fn panic_text(task_id: &str, panic: &str) -> String {
    let id = fresh_id();
    tracing::error!(task.id = task_id, error.id = %id, panic, "executor panicked");
    format!("the agent failed (error {id})")
}
