//! Recording of the steps of a scenario, within a time budget, and what they show about the agent.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use a2a_core::ProtocolVersion;
use a2a_kit_client::Transport;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    evidence::Evidence,
    exchange::{Answer, Exchange, is_terminal, state, text},
    prompts::Prompts,
    step::Step,
    webhook::Webhook,
    wire::{Call, FirstEvent, Link},
};

/// After how many requests in a row without a usable answer an interface is given up.
const MAX_SILENCE: u8 = 3;

/// The most tasks of a run that are remembered for the cleanup.
const MAX_STARTED: usize = 256;

/// Records the steps of a scenario.
pub(crate) struct Recorder<'a> {
    pub(crate) link: &'a Link,
    pub(crate) prompts: &'a Prompts,
    /// A local receiver of notifications, if the agent can reach it.
    pub(crate) webhook: Option<&'a Webhook>,
    pub(crate) evidence: Evidence,
    pub(crate) deadline: Instant,
    /// How many bytes of responses may still be kept in this run.
    pub(crate) room: &'a AtomicUsize,
    /// Called for each request.
    pub(crate) on_request: &'a (dyn Fn() + Send + Sync),
    /// Requests in a row without a usable answer.
    pub(crate) silence: u8,
    /// Tasks of this run that have not ended, as far as is known.
    pub(crate) started: Vec<String>,
}

impl Recorder<'_> {
    /// Why nothing more is tried, if so.
    fn stopped(&self) -> Option<String> {
        if Instant::now() >= self.deadline {
            return Some("the time of the run is over".to_owned());
        }
        if self.room.load(Ordering::Relaxed) == 0 {
            return Some("the responses of the run are too large to keep".to_owned());
        }
        (self.silence >= MAX_SILENCE)
            .then(|| format!("{MAX_SILENCE} requests in a row had no usable answer"))
    }

    /// Makes a call and records it.
    pub(crate) async fn step(&mut self, step: Step, call: Call) -> Option<Exchange> {
        self.step_and_tell(step, call, None).await
    }

    /// Makes a call and records it, and tells when the first event has arrived.
    pub(crate) async fn step_and_tell(
        &mut self,
        step: Step,
        call: Call,
        first: FirstEvent,
    ) -> Option<Exchange> {
        if let Some(reason) = self.stopped() {
            self.evidence.note_missing(step, reason);
            return None;
        }
        (self.on_request)();
        let exchange = self.link.call_and_tell(call, first).await;
        Some(self.record(step, exchange))
    }

    /// Records an exchange.
    pub(crate) fn record(&mut self, step: Step, exchange: Exchange) -> Exchange {
        match exchange.answer {
            Answer::Unusable(_) => self.silence = self.silence.saturating_add(1),
            _ => self.silence = 0,
        }
        let size = exchange.response.body.len();
        // One scenario runs at a time, so that nothing is lost between the two.
        let room = self.room.load(Ordering::Relaxed).saturating_sub(size);
        self.room.store(room, Ordering::Relaxed);
        self.remember(&exchange);
        self.evidence.push(step, exchange.clone());
        exchange
    }

    /// Remembers a task that this run started, to cancel it if it does not end.
    fn remember(&mut self, exchange: &Exchange) {
        if !exchange.operation.to_ascii_lowercase().contains("send")
            && exchange.operation != "message/stream"
        {
            return;
        }
        let first = exchange.events().first().and_then(|event| {
            event.value.get("task").or(Some(&event.value).filter(|value| value.get("id").is_some()))
        });
        let Some(task) = exchange.task().or(first) else { return };
        let id = text(task, "id");
        let is_new = !id.is_empty() && !self.started.iter().any(|known| known == id);
        if is_new && self.started.len() < MAX_STARTED {
            self.started.push(id.to_owned());
        }
    }

    /// Makes a call and records it; without one, records why the step is not done.
    pub(crate) async fn step_if(
        &mut self,
        step: Step,
        call: Option<Call>,
        reason: &str,
    ) -> Option<Exchange> {
        match call {
            Some(call) => self.step(step, call).await,
            None => {
                self.missing(&[step], reason);
                None
            }
        }
    }

    /// Records why steps are not done.
    pub(crate) fn missing(&mut self, steps: &[Step], reason: &str) {
        let reason = self.stopped().unwrap_or_else(|| reason.to_owned());
        for step in steps {
            self.evidence.note_missing(*step, reason.as_str());
        }
    }

    /// Cancels the tasks of this run that have not ended. The answers are no evidence.
    pub(crate) async fn clean_up(&mut self) {
        let is_older = self.link.version < ProtocolVersion::V1Draft;
        let (get, cancel) = match self.link.binding {
            Transport::JsonRpc if is_older => ("tasks/get", "tasks/cancel"),
            _ => ("GetTask", "CancelTask"),
        };
        for id in std::mem::take(&mut self.started) {
            if self.stopped().is_some() {
                return;
            }
            let task = self.link.call(Call::new(get, json!({ "id": id }))).await;
            if task.task().is_some_and(|task| !is_terminal(state(task))) {
                self.link.call(Call::new(cancel, json!({ "id": id }))).await;
            }
        }
    }
}

/// What a scenario has learned about the agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    /// A task that has ended, and its context.
    pub(crate) ended: Option<(String, String)>,
    /// A task with an artifact.
    pub(crate) with_artifact: Option<String>,
    /// The text that makes a task ask for input.
    pub(crate) asking: Option<String>,
    /// The text that gives a task that works for a while.
    pub(crate) slow: Option<String>,
    /// The context of the tasks to list.
    pub(crate) context: Option<String>,
}

/// The reason if there is no task at all.
pub(crate) const NO_TASK: &str = "the agent answered without a task that has ended: \
    name a text that gives one with --prompt-for hello=…";
/// The reason if there is no text for a step.
pub(crate) const NO_TEXT: &str = "no text for it was given with --prompt-for";
/// The reason if no task asks for input.
pub(crate) const NO_ASKING: &str =
    "no task asked for input: name a text that does with --prompt-for ask=…";
/// The reason if no task is known to work for a while.
pub(crate) const NO_SLOW: &str = "no task is sure to be still working: \
    name a text that takes seconds with --prompt-for slow=…";

/// A user's message of 1.0 with a text.
pub(crate) fn message(text: &str) -> Value {
    json!({ "messageId": Uuid::new_v4().to_string(), "role": "ROLE_USER", "parts": [{ "text": text }] })
}

/// The parameters of a send, with further members of the message.
pub(crate) fn send(text: &str, members: Value) -> Value {
    let mut message = message(text);
    merge(&mut message, members);
    json!({ "message": message })
}

/// Adds members to an object.
pub(crate) fn merge(object: &mut Value, members: Value) {
    if let (Value::Object(object), Value::Object(members)) = (object, members) {
        object.extend(members);
    }
}
