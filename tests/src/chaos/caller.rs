use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    Event, History, Nodes, Problem, Seat, Seen, Tally, Wire, messages::text, reader::Opened,
};

/// Pause before a call is repeated.
const RETRY: Duration = Duration::from_millis(200);

/// Sends messages and cancels until a node accepts them, and records the answers.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) wire: Wire,
    pub(super) nodes: Arc<Nodes>,
    pub(super) tally: Arc<Tally>,
    pub(super) history: Arc<History>,
}

impl Caller {
    /// Sends a message over any binding until a node accepts it, and returns the first event of the
    /// response.
    pub(super) async fn stream(&self, body: &Value) -> Result<(Event, Opened), String> {
        let key = unique();
        let asked = Instant::now();
        loop {
            let seat = self.nodes.seat();
            let problem = match self.wire.stream(seat, &key, body.clone()).await {
                Ok(mut events) => match events.next().await {
                    Ok(Some(event)) => {
                        let stream = self.history.open(asked, None, true);
                        self.history.event(asked, stream, &event);
                        self.accepted(asked, body);
                        self.tally.events.fetch_add(1, Relaxed);
                        return Ok((event, Opened { asked, stream, events }));
                    }
                    Ok(None) => Problem::Unreachable("an empty stream".into()),
                    Err(problem) => problem,
                },
                Err(problem) => problem,
            };
            self.again(seat, body, problem).await?;
        }
    }

    /// Sends a message over any binding until a node accepts it, and waits for its turn. Now and
    /// then the same message is sent on two ways at once.
    pub(super) async fn send(&self, body: &Value) -> Result<(), String> {
        let key = unique();
        if self.nodes.one_in(4) {
            let (one, two) = tokio::join!(self.send_once(&key, body), self.send_once(&key, body));
            return one.and(two);
        }
        self.send_once(&key, body).await
    }

    async fn send_once(&self, key: &str, body: &Value) -> Result<(), String> {
        let asked = Instant::now();
        loop {
            // An answer of an earlier attempt is lost: only this one says how old it may be.
            let (seat, repeated) = (self.nodes.seat(), Instant::now());
            let problem = match self.wire.send(seat, key, body.clone()).await {
                Ok(answer) if answer["task"].is_object() => {
                    self.accepted(asked, body);
                    self.task(repeated, answer["task"].clone());
                    return Ok(());
                }
                Ok(answer) => return Err(format!("{seat:?} answered {body} with {answer}")),
                Err(problem) => problem,
            };
            self.again(seat, body, problem).await?;
        }
    }

    /// Cancels a task.
    pub(super) async fn cancel(&self, task: &str) -> Result<(), String> {
        let first = Instant::now();
        loop {
            let (asked, seat) = (Instant::now(), self.nodes.seat());
            match self.wire.cancel(seat, task).await {
                Ok(answer) if answer["status"]["state"] == "TASK_STATE_CANCELED" => {
                    self.history.record(first, Seen::Canceled);
                    self.task(asked, answer);
                    return Ok(());
                }
                Ok(answer) => return Err(format!("cancel returned {}", answer["status"])),
                Err(problem) if problem.is_transient() => {}
                // An earlier attempt may have canceled it.
                Err(Problem::Rejected(_, body))
                    if body.to_string().contains("TASK_NOT_CANCELABLE")
                        && self.get(task).await?["status"]["state"] == "TASK_STATE_CANCELED" =>
                {
                    return Ok(());
                }
                Err(problem) => return Err(format!("{seat:?}: cancel failed: {problem:?}")),
            }
            sleep(RETRY).await;
        }
    }

    /// Reads a task.
    pub(super) async fn get(&self, task: &str) -> Result<Value, String> {
        loop {
            let (asked, seat) = (Instant::now(), self.nodes.seat());
            match self.wire.get(seat, task).await {
                Ok(answer) => {
                    self.task(asked, answer.clone());
                    return Ok(answer);
                }
                Err(problem) if problem.is_transient() => sleep(RETRY).await,
                Err(problem) => return Err(format!("{seat:?} did not find {task}: {problem:?}")),
            }
        }
    }

    fn task(&self, asked: Instant, task: Value) {
        self.tally.answers.fetch_add(1, Relaxed);
        self.history.record(asked, Seen::Task { task, has_history: true });
    }

    fn accepted(&self, asked: Instant, body: &Value) {
        self.history.record(asked, Seen::Accepted(text(&body["message"]).to_owned()));
    }

    /// Pauses before the next attempt, unless the message was refused for good.
    async fn again(&self, seat: Seat<'_>, body: &Value, problem: Problem) -> Result<(), String> {
        if problem.is_transient() {
            self.history.note(format!("{} to {seat:?}: {problem:?}", body["message"]));
            sleep(RETRY).await;
            return Ok(());
        }
        let text = text(&body["message"]).to_owned();
        self.history.record(Instant::now(), Seen::Refused(text));
        Err(format!("{seat:?} rejected {body}: {problem:?}"))
    }
}

pub(super) fn unique() -> String {
    a2a_core::fresh_id()
}

/// A request with a message of the user.
pub(super) fn request(text: &str, task: Option<&str>) -> Value {
    let mut message =
        json!({ "messageId": unique(), "role": "ROLE_USER", "parts": [{ "text": text }] });
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({ "message": message })
}
