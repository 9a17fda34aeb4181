//! Checks the laws of executors: each function makes one experiment, and reports what it violates.

use std::collections::HashMap;

use a2a_core::{ErrorKind, TaskState, v1::stream_response::Payload};
use a2a_kit_client::MessageRequest;
use a2a_kit_operations::{AgentExecutor, Event, Recovery};
use tokio::time::{Instant, timeout};

use super::{
    Check, Law, Transcript, Violation,
    check::{CrashablePairs, LateUpdates},
    transcript::describe_error,
};
use crate::{Client, Events};

/// Maximum number of answers in a conversation.
const MAX_ANSWERS: usize = 16;

/// Checks that an executor keeps all [laws](Law), with the message "Hello". [`Check`] sets others.
///
/// `executor` is called several times, for agents that know nothing of each other. What the executor
/// calls, such as other agents, is called several times too.
///
/// # Panics
///
/// If a law is violated; the message names each one, and what happened.
pub async fn check<E: AgentExecutor>(executor: impl Fn() -> E) {
    let violations = Check::new(executor).run().await;
    let lines: Vec<_> = violations.iter().map(Violation::to_string).collect();
    assert!(violations.is_empty(), "the executor violates laws:\n{}", lines.join("\n"));
}

impl<E: AgentExecutor, F: Fn() -> E> Check<F> {
    /// Checks all laws, and returns the violations.
    pub async fn run(self) -> Vec<Violation> {
        let late = LateUpdates::default();
        let (is_accepted, mut violations) = self.conversation(&late).await;
        let mut add = |law, found: Option<String>| {
            violations.extend(found.map(|found| Violation { law, found }));
        };
        add(Law::CancelIsObserved, self.cancel(&late).await);
        add(Law::CallersMayLeave, self.dropped_stream(&late).await);
        if is_accepted {
            add(Law::CrashIsRecovered, self.crash(&late).await);
        }
        let found = || "the executor made an update after the end of its task".to_owned();
        add(Law::EndIsFinal, late.seen().then(found));
        violations
    }

    /// Answers the executor's questions until the task ends, and checks its events. Returns whether
    /// the executor accepts the message, so that it is worth while to send it again.
    async fn conversation(&self, late: &LateUpdates) -> (bool, Vec<Violation>) {
        let engine = self.engine(&CrashablePairs::default(), late).await;
        let client = self.client(&engine);
        let mut message = self.message.clone();
        let mut all = Transcript::default();
        for answer in 0..=MAX_ANSWERS {
            let turn = match self.turn(&client, message).await {
                Ok(turn) => turn,
                Err(found) => {
                    return (true, vec![Violation { law: Law::MessageIsAnswered, found }]);
                }
            };
            turn.events().iter().for_each(|event| all.push(event.clone()));
            let state = turn.events().last().and_then(Event::state);
            match (state, turn.task()) {
                (Some(TaskState::InputRequired), Some(task)) if answer < MAX_ANSWERS => {
                    let answer = self.answers.get(answer).or(self.answers.last()).cloned();
                    message = answer.unwrap_or_else(|| "yes".into()).to_task(&task.id);
                }
                _ => break,
            }
        }
        let mut violations = chunks(&all);
        let is_success =
            |state: &TaskState| state.is_interrupted() || *state == TaskState::Completed;
        let states = all.states();
        // A message without a task has no state.
        let is_accepted = states.is_empty() || states.iter().any(is_success);
        if !is_accepted {
            let found = format!("nothing else was checked, after:\n{all}");
            violations.push(Violation { law: Law::MessageIsAccepted, found });
        }
        (is_accepted, violations)
    }

    /// Sends a message, and reads its stream to the end.
    async fn turn(&self, client: &Client, message: MessageRequest) -> Result<Transcript, String> {
        let mut turn = Transcript::default();
        let mut events = match timeout(self.timeout, client.stream(message)).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => {
                return Err(format!("the message was refused: {}", describe_error(&error)));
            }
            Err(_) => return Err(format!("no response for {:?}", self.timeout)),
        };
        loop {
            match self.next(&mut events).await {
                Ok(Some(event)) => {
                    let is_over = event.state().is_some_and(TaskState::is_interrupted);
                    turn.push(event);
                    if is_over {
                        return Ok(turn);
                    }
                }
                Ok(None) => return Ok(turn),
                Err(found) => return Err(format!("{found}, after:\n{turn}")),
            }
        }
    }

    async fn next(&self, events: &mut Events) -> Result<Option<Event>, String> {
        match timeout(self.timeout, events.next()).await {
            Ok(Some(Ok(event))) => Ok(Some(event)),
            Ok(Some(Err(error))) => Err(format!("the stream failed: {}", describe_error(&error))),
            Ok(None) => Ok(None),
            Err(_) => Err(format!("no event for {:?}", self.timeout)),
        }
    }

    /// Sends the message, and returns the stream after its first event, with the id of the task;
    /// `None` if that event already ends it.
    async fn begin(&self, client: &Client) -> Option<(Events, String)> {
        let stream = client.stream(self.message.clone());
        let mut events = timeout(self.timeout, stream).await.ok()?.ok()?;
        // Silence is reported by the conversation.
        let first = self.next(&mut events).await.ok()??;
        let is_open = first.state().is_some_and(|state| !is_settled(state));
        first.task().filter(|_| is_open).map(|task| (events, task.id.clone()))
    }

    /// Cancels a task that is being worked on.
    async fn cancel(&self, late: &LateUpdates) -> Option<String> {
        let engine = self.engine(&CrashablePairs::default(), late).await;
        let client = self.client(&engine);
        let (_events, task_id) = self.begin(&client).await?;
        let begun = Instant::now();
        match client.cancel(&task_id).await {
            Ok(_) if begun.elapsed() < self.grace => None,
            Ok(_) => {
                Some(format!("the executor went on for the whole grace period of {:?}", self.grace))
            }
            // The executor was faster.
            Err(error) if error.kind() == ErrorKind::TaskNotCancelable => None,
            Err(error) => Some(describe_error(&error)),
        }
    }

    /// Drops the stream of a task that is being worked on.
    async fn dropped_stream(&self, late: &LateUpdates) -> Option<String> {
        let engine = self.engine(&CrashablePairs::default(), late).await;
        let client = self.client(&engine);
        let (events, task_id) = self.begin(&client).await?;
        drop(events);
        self.settled(&client, &task_id).await.err()
    }

    /// Starts another agent on what is stored while a task is being worked on.
    async fn crash(&self, late: &LateUpdates) -> Option<String> {
        let pairs = CrashablePairs::default();
        let engine = self.engine(&pairs, late).await;
        let (_events, task_id) = self.begin(&self.client(&engine)).await?;
        let next = self.engine(&pairs.crash(), late).await;
        match (self.settled(&self.client(&next), &task_id).await, self.recovery()) {
            (Ok(TaskState::Failed), Recovery::Rerun) => {
                Some("the task is FAILED after the rerun".to_owned())
            }
            (settled, _) => settled.err(),
        }
    }

    async fn settled(&self, client: &Client, task_id: &str) -> Result<TaskState, String> {
        match timeout(self.timeout, client.wait_until(task_id, is_settled)).await {
            Ok(Ok(task)) => Ok(task.state()),
            Ok(Err(error)) => Err(describe_error(&error)),
            Err(_) => Err(format!("the task did not end within {:?}", self.timeout)),
        }
    }
}

/// Checks the chunks of each artifact.
fn chunks(all: &Transcript) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut add = |law, found| violations.push(Violation { law, found });
    // Whether the last chunk of each artifact has come.
    let mut artifacts: HashMap<&str, bool> = HashMap::new();
    for event in all.events() {
        let Some(Payload::ArtifactUpdate(update)) = event.payload() else { continue };
        let Some(artifact) = &update.artifact else { continue };
        let id = artifact.artifact_id.as_str();
        let before = artifacts.insert(id, update.last_chunk);
        match (before, update.append) {
            (None, true) => {
                add(Law::ChunksAreInOrder, format!("artifact {id:?} begins with an append"));
            }
            (Some(true), true) => {
                add(Law::ChunksAreInOrder, format!("artifact {id:?} goes on after its last chunk"));
            }
            (None | Some(_), _) => {}
        }
    }
    if all.events().last().and_then(Event::state) == Some(TaskState::Completed) {
        for (id, _) in artifacts.iter().filter(|(_, is_complete)| !**is_complete) {
            let found = format!("the task is COMPLETED without the last chunk of artifact {id:?}");
            add(Law::ChunksAreComplete, found);
        }
    }
    violations
}

fn is_settled(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
