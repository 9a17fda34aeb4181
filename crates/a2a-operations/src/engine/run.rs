//! The life of an executor: turns, panics, silence.

use std::{
    cell::Cell,
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use a2a_core::{Message, TaskState, fresh_id};
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::{batch::Batched, change, handle::Handle, state::State, turn::TurnRequest, work::Left};
use crate::{AgentError, RequestContext, TaskUpdater, metrics, trace};

impl Handle {
    /// Begins the turn of a message: the task works again, and the message enters its history.
    pub(super) fn begin_turn(&self, state: &mut State, ticket: u64, turn: &TurnRequest) {
        // The status first: it moves the question that was open into the history, before the
        // answer.
        let working = self.status_event(TaskState::Working, None);
        state.turn = ticket;
        state.turn_start = state.push(working);
        for command in &turn.commands {
            state.commands.begin(Arc::clone(command), state.turn_start);
        }
        state.work.begin_turn();
        state.execution = Some(turn.clone());
        state.push_message(Message::clone(&turn.message));
        // Whoever streams the turn begins with the task as it is here, however far the executor
        // gets before the stream is first read.
        state.turn_opening =
            turn.streams.then(|| Arc::new(change::applied(&state.task, state.unseen())));
    }

    /// Runs the executor for a message that was accepted, and for those that queue behind it.
    ///
    /// Where the caller waits for the answer anyway, the executor begins right here: one that
    /// does not wait for anything then needs no task of its own.
    pub(super) fn run(&self, turn: TurnRequest, begins: Begins) {
        let number = self.lock().run;
        self.inner.running.fetch_add(1, Ordering::Relaxed);
        let tracked = self.inner.tasks.track_future(run(self.clone(), number, turn));
        // Boxed: what tokio allocates for a task is aligned to cache lines, which is slow for
        // all but small sizes.
        let mut running = Box::pin(tracked);
        let is_over = begins == Begins::Here
            && INSIDE.with(|inside| {
                // Agents that call each other would fill the stack.
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

    /// Ends a task that was cut off and is not run again: FAILED.
    pub(super) fn fail_interrupted(&self, state: &mut State) {
        let text = "the agent was interrupted while it worked on this task";
        let failed = status(self, TaskState::Failed, Message::agent(text));
        state.push(failed);
    }
}

/// Where an executor begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// Within the call that asked for it.
    Here,
    /// In a task of its own.
    Apart,
}

thread_local! {
    /// Whether an executor is at its beginning within a call, on this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

async fn run(handle: Handle, number: u64, first: TurnRequest) {
    let mut turn = Some(first);
    while let Some(request) = turn {
        let begun = Instant::now();
        let (task, context) = (&handle.task_id, &handle.context_id);
        let span = trace::execution(task, context, &request.call, request.rerun);
        let outcome = execute(&handle, number, request).instrument(span.clone()).await;
        outcome.count(&span, begun.elapsed());
        // What the log says of a failure belongs to the execution.
        turn =
            span.in_scope(|| {
                handle.change(|state| {
                    if state.run == number { finish(&handle, state, outcome) } else { None }
                })
            });
        handle.write();
    }
    handle.inner.running.fetch_sub(1, Ordering::Relaxed);
    // Whoever still waits gets what there is, or learns that nothing more comes.
    handle.change(|_| ());
    handle.let_go_if_idle();
}

/// How an executor ended.
enum Outcome {
    Returned,
    Failed(AgentError),
    Panicked(String),
    /// It took too long; this is what the caller is told.
    Expired(String),
    Dropped,
}

impl Outcome {
    fn count(&self, span: &Span, time: Duration) {
        let (outcome, is_fault) = match self {
            Self::Returned => ("returned", false),
            Self::Failed(_) => ("failed", true),
            Self::Panicked(_) => ("panicked", true),
            Self::Expired(_) => ("expired", true),
            Self::Dropped => (metrics::DROPPED, false),
        };
        span.record("a2a.outcome", outcome);
        if is_fault {
            span.record("otel.status_code", "ERROR");
        }
        metrics::executed(outcome, time);
    }
}

async fn execute(handle: &Handle, number: u64, request: TurnRequest) -> Outcome {
    let kill = handle.lock().kill.clone();
    let extensions = handle.inner.extensions.active(&request.call, &request.message);
    let context = RequestContext::new(handle.clone(), request);
    let updates = TaskUpdater::new(handle.clone(), number, extensions);
    let executor = Arc::clone(&handle.inner.executor);
    // The executor may panic already where it makes its future.
    let execution = async move { executor.execute(context, updates).await };
    let execution = std::pin::pin!(AssertUnwindSafe(execution).catch_unwind());
    let execution = Batched::new(handle, execution);
    let silence = async {
        tokio::time::sleep(handle.inner.config.appear_after).await;
        handle.change(|state| {
            if !state.is_over() && state.run == number {
                state.appear();
            }
        });
        handle.write();
        out_of_time(handle, number).await
    };
    let result = tokio::select! {
        biased;
        result = execution => result,
        () = kill.cancelled() => return Outcome::Dropped,
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
                .unwrap_or_else(|| "a panic without a text".to_owned()),
        ),
    }
}

/// Waits until an executor has no time left.
async fn out_of_time(handle: &Handle, number: u64) -> Outcome {
    let config = &handle.inner.config;
    let limits = config.run_limits.and(handle.inner.executor.run_limits());
    loop {
        let left = {
            let state = handle.lock();
            if state.run != number || state.broken {
                // It is dropped already.
                Left::Forever
            } else {
                state.work.left(limits, config.parked_retention)
            }
        };
        match left {
            Left::Until(deadline) => tokio::time::sleep_until(deadline).await,
            Left::Forever => std::future::pending().await,
            Left::Expired(text) => return Outcome::Expired(text),
            Left::Parked => return Outcome::Dropped,
        }
    }
}

/// Settles what an executor left behind, and returns the next message, if one waits.
fn finish(handle: &Handle, state: &mut State, outcome: Outcome) -> Option<TurnRequest> {
    state.asking = false;
    state.handed = None;
    let dropped = matches!(outcome, Outcome::Dropped);
    if state.reply.is_none() && !state.broken {
        let failure = match outcome {
            Outcome::Returned | Outcome::Dropped => None,
            Outcome::Failed(error) if !state.head.is_terminal() => Some(failure_text(&error)),
            Outcome::Panicked(panic) => Some(panic_text(&panic)),
            Outcome::Expired(text) => {
                tracing::warn!(reason = text, "executor dropped");
                Some(text)
            }
            Outcome::Failed(_) => None,
        };
        if !state.head.is_terminal() {
            state.appear();
            if state.canceling {
                let text = Message::agent("canceled at the client's request");
                let canceled = status(handle, TaskState::Canceled, text);
                state.push(canceled);
            } else if let Some(text) = failure {
                let failed = status(handle, TaskState::Failed, Message::agent(text));
                state.push(failed);
            }
        }
    }
    let stops = handle.inner.draining.is_cancelled();
    // The work is to go on elsewhere, or here after a restart.
    let works = !matches!(state.head, TaskState::InputRequired) && !state.is_over();
    state.cut_off = dropped && stops && works;
    let next = if state.is_over() || stops { None } else { state.queue.pop_front() };
    match next {
        Some(queued) => {
            state.kill = CancellationToken::new();
            handle.begin_turn(state, queued.ticket, &queued.turn);
            Some(queued.turn)
        }
        None => {
            state.running = false;
            state.work.end();
            if state.reply.is_some() {
                state.birth.draft = None;
            }
            // What other nodes have sent stays in the store, for whoever looks at it next: when the
            // end of the task is stored, or when another node has taken the task.
            let left: Vec<_> =
                state.queue.drain(..).flat_map(|queued| queued.turn.commands).collect();
            state.commands.leave(&left);
            state.taken.retain(|(_, ticket)| *ticket <= state.turn);
            None
        }
    }
}

pub(super) fn status(
    handle: &Handle,
    state: TaskState,
    message: Message,
) -> a2a_core::v1::stream_response::Payload {
    handle.status_event(state, Some(message))
}

/// The public text of a failure; the cause goes to the log, under an id that the text names.
fn failure_text(error: &AgentError) -> String {
    match (error.message(), error.source()) {
        (Some(text), None) => {
            tracing::warn!(error = text, "the executor failed");
            text.to_owned()
        }
        (text, source) => {
            let id = fresh_id();
            tracing::error!(error.id = %id, error = ?source, "the executor failed");
            match text {
                Some(text) => format!("{text} (error {id})"),
                None => format!("the agent failed (error {id})"),
            }
        }
    }
}

fn panic_text(panic: &str) -> String {
    let id = fresh_id();
    tracing::error!(error.id = %id, panic, "the executor panicked");
    format!("the agent failed (error {id})")
}
