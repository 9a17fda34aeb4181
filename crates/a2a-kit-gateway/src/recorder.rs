//! Recording of traffic.

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use a2a_core::{Error, Operation, Request, Result, well_known::Timestamp};
use a2a_kit_operations::{
    Agent, AgentMethod, Call, CallContext, Event, EventStream, Reply, intercept_agent,
};
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::redact::{self, Redact};

/// Records the calls, responses and events of an agent by passing them to a sink.
///
/// Messages are recorded in full. Secrets are redacted: the token and credentials of a webhook, the
/// query of its URL, and parameters whose names indicate a secret. Credentials of callers never
/// reach an [`Agent`].
///
/// The sink is called synchronously during the call, so it must not block.
#[derive(Clone)]
pub struct Recorder<A> {
    agent: A,
    sink: Arc<Sink>,
    calls: Arc<AtomicU64>,
}

type Sink = dyn Fn(Entry) + Send + Sync;

/// An entry of a recording.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// The time of the entry.
    pub time: Timestamp,
    /// The number of the call: 1, 2, 3…
    pub call: u64,
    /// The operation of the call.
    pub operation: &'static str,
    /// The time since the start of the call, in microseconds.
    pub micros: u64,
    /// The step of the call.
    #[serde(flatten)]
    pub step: Step,
}

/// A step of a call.
#[derive(Debug, Serialize)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Step {
    /// The request was received.
    Request {
        /// The protocol version of the caller.
        version: &'static str,
        /// The subject of the caller, if authenticated.
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<String>,
        /// The requested extensions.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        extensions: Vec<String>,
        /// The service parameters, with secrets redacted.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        parameters: BTreeMap<String, String>,
        /// The position after which a stream resumes.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_event_id: Option<u64>,
        /// The request.
        body: Option<Box<RawValue>>,
    },
    /// The call succeeded, or its stream opened.
    Answer {
        /// The activated extensions.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        activated: Vec<String>,
        /// The response; `None` for streams and empty responses.
        body: Option<Box<RawValue>>,
    },
    /// An event of the stream.
    Event {
        /// The position of the event, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<u64>,
        /// The event.
        body: Option<Box<RawValue>>,
    },
    /// The call failed, or its stream was interrupted.
    Error {
        /// The error reason of the protocol.
        reason: &'static str,
        /// The error message for the caller.
        message: String,
        /// The error metadata for the caller.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
    /// The stream ended normally.
    End,
    /// The caller disconnected early.
    Gone,
}

impl<A: Agent> Recorder<A> {
    /// Creates a recorder of the traffic of `agent`.
    pub fn new(agent: A, sink: impl Fn(Entry) + Send + Sync + 'static) -> Self {
        Self { agent, sink: Arc::new(sink), calls: Arc::default() }
    }

    async fn intercept<R: Request + Redact, T: Redact + 'static>(
        &self,
        operation: Operation,
        call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let mut log = CallLog {
            sink: self.sink.clone(),
            call: self.calls.fetch_add(1, Ordering::Relaxed) + 1,
            operation,
            started: Instant::now(),
            ended: false,
        };
        log.write(request(&call.context, call.request.redacted()));
        let reply = match next(&self.agent, call).await {
            Ok(reply) => reply,
            Err(error) => {
                log.end(failure(&error));
                return Err(error);
            }
        };
        let activated = reply.activated.iter().map(str::to_owned).collect();
        let step = Step::Answer { activated, body: reply.response.redacted() };
        Ok(reply.map(|response| recorded(response, step, log)))
    }
}

impl<A: Agent> Agent for Recorder<A> {
    intercept_agent!(intercept);
}

a2a_core::debug_fields!(Recorder<A> { calls, .. });

fn request(context: &CallContext, body: Option<Box<RawValue>>) -> Step {
    let parameter = |(name, value): (&String, &String)| {
        (name.clone(), redact::parameter(name, value).to_owned())
    };
    Step::Request {
        version: context.version.as_str(),
        caller: context.caller.subject().map(str::to_owned),
        extensions: context.extensions.iter().map(str::to_owned).collect(),
        parameters: context.parameters.iter().map(parameter).collect(),
        last_event_id: context.last_event_id.map(|id| id.get()),
        body,
    }
}

fn failure(error: &Error) -> Step {
    Step::Error {
        reason: error.kind().codes().reason,
        message: error.message().to_owned(),
        metadata: error.metadata().clone(),
    }
}

fn event(event: &Event) -> Step {
    // This encoding is shared by all readers of the stream; events contain no secrets.
    let json = String::from_utf8(event.json().into()).ok();
    Step::Event {
        position: event.id().map(|id| id.get()),
        body: json.and_then(|json| RawValue::from_string(json).ok()),
    }
}

/// The recording of one call. Dropping it before the end of the call records that the caller
/// disconnected.
struct CallLog {
    sink: Arc<Sink>,
    call: u64,
    operation: Operation,
    started: Instant,
    ended: bool,
}

impl CallLog {
    fn write(&self, step: Step) {
        let micros = |elapsed: Duration| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        (self.sink)(Entry {
            time: Timestamp::now(),
            call: self.call,
            operation: self.operation.name(),
            micros: micros(self.started.elapsed()),
            step,
        });
    }

    fn end(&mut self, step: Step) {
        self.ended = true;
        self.write(step);
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        if !self.ended {
            self.write(Step::Gone);
        }
    }
}

/// Ends the recording of a call with its response, or at the end of its stream.
fn recorded<T: 'static>(mut response: T, step: Step, mut log: CallLog) -> T {
    let Some(events) = (&mut response as &mut dyn Any).downcast_mut::<EventStream>() else {
        log.end(step);
        return response;
    };
    log.write(step);
    let rest = std::mem::replace(events, EventStream::new(stream::empty()));
    *events = EventStream::new(stream::unfold((rest, log), |(mut events, mut log)| async move {
        let item = events.next().await;
        match &item {
            Some(Ok(next)) => log.write(event(next)),
            Some(Err(error)) => log.end(failure(error)),
            None if !log.ended => log.end(Step::End),
            None => {}
        }
        item.map(|item| (item, (events, log)))
    }));
    response
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use a2a_core::{
        AgentCard, Message,
        v1::{GetTaskRequest, SendMessageRequest},
    };
    use a2a_kit_operations::{Caller, Engine, agent_fn};

    use super::*;

    type Lines = Arc<Mutex<Vec<serde_json::Value>>>;

    fn recorded() -> (Recorder<Engine>, Lines) {
        let card = AgentCard::new("Echo", "Repeats messages");
        let engine = Engine::new(card, agent_fn(async |text: String| text));
        let lines = Lines::default();
        let sink = lines.clone();
        let recorder = Recorder::new(engine, move |entry| {
            sink.lock().unwrap().push(serde_json::to_value(&entry).unwrap());
        });
        (recorder, lines)
    }

    fn send() -> Call<SendMessageRequest> {
        let message = Some(Message::user("hello"));
        let mut call = Call::new(SendMessageRequest { message, ..Default::default() });
        call.context.caller = Caller::authenticated("me");
        call.context.parameters.insert("a2a-api-key".into(), "secret".into());
        call
    }

    fn steps(lines: &Lines) -> Vec<String> {
        let describe = |line: &serde_json::Value| {
            format!("{} {} {}", line["call"], line["operation"], line["step"]).replace('"', "")
        };
        lines.lock().unwrap().iter().map(describe).collect()
    }

    #[tokio::test]
    async fn call_and_response_are_one_entry_each() {
        let (recorder, lines) = recorded();
        recorder.send_message(send()).await.unwrap();
        let unknown = GetTaskRequest { id: "nope".into(), ..Default::default() };
        recorder.get_task(Call::new(unknown)).await.unwrap_err();
        assert_eq!(
            steps(&lines),
            [
                "1 SendMessage request",
                "1 SendMessage answer",
                "2 GetTask request",
                "2 GetTask error",
            ]
        );
        let lines = lines.lock().unwrap();
        assert_eq!(lines[0]["caller"], "me");
        assert_eq!(lines[0]["version"], "1.0");
        assert_eq!(lines[0]["parameters"]["a2a-api-key"], "[redacted]");
        assert_eq!(lines[0]["body"]["message"]["parts"][0]["text"], "hello");
        assert_eq!(lines[1]["body"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(lines[3]["reason"], "TASK_NOT_FOUND");
        assert!(lines[3]["micros"].is_u64() && lines[3]["time"].is_string());
    }

    #[tokio::test]
    async fn every_event_and_the_end_of_a_stream_are_entries() {
        let (recorder, lines) = recorded();
        let events = recorder.send_streaming_message(send()).await.unwrap().response;
        let count = events.count().await;
        let steps = steps(&lines);
        assert_eq!(steps.len(), count + 3);
        assert_eq!(steps[1], "1 SendStreamingMessage answer");
        assert_eq!(steps.last().unwrap(), "1 SendStreamingMessage end");
        let lines = lines.lock().unwrap();
        assert_eq!(lines[2]["position"], 1);
        assert!(lines[2]["body"]["task"].is_object(), "{}", lines[2]);
    }

    #[tokio::test]
    async fn disconnected_caller_is_distinct_from_ended_stream() {
        let (recorder, lines) = recorded();
        let mut events = recorder.send_streaming_message(send()).await.unwrap().response;
        events.next().await.unwrap().unwrap();
        drop(events);
        assert_eq!(steps(&lines).last().unwrap(), "1 SendStreamingMessage gone");
    }
}
