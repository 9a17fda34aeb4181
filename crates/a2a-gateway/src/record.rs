//! An agent whose traffic is kept.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use a2a_core::{Error, Operation, Request, Result, well_known::Timestamp};
use a2a_operations::{Agent, Call, CallContext, Event, EventStream, Reply};
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    redact::{self, Redact},
    wrap::{Answer, wrap_agent},
};

/// An agent whose calls, answers and events are handed to a sink as they happen.
///
/// Messages are kept whole. Secrets are not: the token and the credentials of a webhook, the query
/// of its address, and parameters with telling names. Credentials of callers never get as far as
/// an [`Agent`].
///
/// The sink is called while the call waits, so it has to be quick; what it does with an entry is
/// up to it.
#[derive(Clone)]
pub struct Record<A> {
    agent: A,
    sink: Arc<Sink>,
    calls: Arc<AtomicU64>,
}

type Sink = dyn Fn(Entry) + Send + Sync;

/// One thing that happened, one line of a record.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// When it happened.
    pub time: Timestamp,
    /// The call it belongs to: 1, 2, 3…
    pub call: u64,
    /// The operation of the call.
    pub operation: &'static str,
    /// The time since the call began, in microseconds.
    pub micros: u64,
    /// What happened.
    #[serde(flatten)]
    pub step: Step,
}

/// What happened in a call.
#[derive(Debug, Serialize)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Step {
    /// The call came in.
    Request {
        /// The revision that the caller speaks.
        version: &'static str,
        /// Who calls, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<String>,
        /// The extensions that the caller asks for.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        extensions: Vec<String>,
        /// What else came beside the request.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        parameters: BTreeMap<String, String>,
        /// The position after which a reader wants to go on.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_event_id: Option<u64>,
        /// The request.
        body: Option<Box<RawValue>>,
    },
    /// It was answered, or its stream opened.
    Answer {
        /// The extensions that were used.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        activated: Vec<String>,
        /// The answer; `None` where it is a stream or empty.
        body: Option<Box<RawValue>>,
    },
    /// An event of its stream.
    Event {
        /// The position of the event, where it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<u64>,
        /// The event.
        body: Option<Box<RawValue>>,
    },
    /// The call failed, or its stream was cut.
    Error {
        /// The reason, as the protocol names it.
        reason: &'static str,
        /// What the caller reads.
        message: String,
        /// What else the caller learns.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
    /// The stream ended where it should.
    End,
    /// The caller went before that.
    Gone,
}

impl<A: Agent> Record<A> {
    /// Creates an agent whose traffic goes to `sink`.
    pub fn new(agent: A, sink: impl Fn(Entry) + Send + Sync + 'static) -> Self {
        Self { agent, sink: Arc::new(sink), calls: Arc::default() }
    }

    async fn through<'a, R: Request + Redact, T: Recorded>(
        &'a self,
        operation: Operation,
        call: Call<R>,
        go: impl FnOnce(&'a A, Call<R>) -> Answer<'a, T> + Send,
    ) -> Result<Reply<T>> {
        let mut log = CallLog {
            sink: self.sink.clone(),
            call: self.calls.fetch_add(1, Ordering::Relaxed) + 1,
            operation,
            begun: Instant::now(),
            ended: false,
        };
        log.write(request(&call.context, call.request.redacted()));
        let reply = match go(&self.agent, call).await {
            Ok(reply) => reply,
            Err(error) => {
                log.end(failure(&error));
                return Err(error);
            }
        };
        let activated = reply.activated.iter().map(str::to_owned).collect();
        let answer = Step::Answer { activated, body: reply.response.redacted() };
        Ok(reply.map(|response| response.recorded(answer, log)))
    }
}

wrap_agent!(Record);

impl<A> fmt::Debug for Record<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("calls", &self.calls).finish_non_exhaustive()
    }
}

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
    // Readers of the stream share this encoding, and there are no secrets in an event.
    let json = String::from_utf8(event.json().into()).ok();
    Step::Event {
        position: event.id().map(|id| id.get()),
        body: json.and_then(|json| RawValue::from_string(json).ok()),
    }
}

/// The record of one call. Dropped before the end of the call, it says that the caller went.
struct CallLog {
    sink: Arc<Sink>,
    call: u64,
    operation: Operation,
    begun: Instant,
    ended: bool,
}

impl CallLog {
    fn write(&self, step: Step) {
        let micros = |elapsed: Duration| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        (self.sink)(Entry {
            time: Timestamp::now(),
            call: self.call,
            operation: self.operation.name(),
            micros: micros(self.begun.elapsed()),
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

/// An answer that ends its record, now or later.
trait Recorded: Redact + Sized {
    fn recorded(self, answer: Step, mut log: CallLog) -> Self {
        log.end(answer);
        self
    }
}

macro_rules! recorded_at_once {
    ($($response:ident),* $(,)?) => {
        $(impl Recorded for a2a_core::v1::$response {})*
    };
}

recorded_at_once! {
    AgentCard,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    SendMessageResponse,
    TaskPushNotificationConfig,
}

impl Recorded for () {}

impl Recorded for Arc<a2a_core::Task> {}

impl Recorded for EventStream {
    fn recorded(self, answer: Step, log: CallLog) -> Self {
        log.write(answer);
        Self::new(stream::unfold((self, log), |(mut events, mut log)| async move {
            let item = events.next().await;
            match &item {
                Some(Ok(next)) => log.write(event(next)),
                Some(Err(error)) => log.end(failure(error)),
                None if !log.ended => log.end(Step::End),
                None => {}
            }
            item.map(|item| (item, (events, log)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use a2a_core::{
        AgentCard, Message,
        v1::{GetTaskRequest, SendMessageRequest},
    };
    use a2a_operations::{Caller, Engine, agent_fn};

    use super::*;

    type Lines = Arc<Mutex<Vec<serde_json::Value>>>;

    fn recorded() -> (Record<Engine>, Lines) {
        let card = AgentCard::new("Echo", "Says what it hears");
        let engine = Engine::new(card, agent_fn(async |text: String| text));
        let lines = Lines::default();
        let sink = lines.clone();
        let record = Record::new(engine, move |entry| {
            sink.lock().unwrap().push(serde_json::to_value(&entry).unwrap());
        });
        (record, lines)
    }

    fn send() -> Call<SendMessageRequest> {
        let message = Some(Message::user("hello"));
        let mut call = Call::new(SendMessageRequest { message, ..Default::default() });
        call.context.caller = Caller::authenticated("me");
        call.context.parameters.insert("a2a-api-key".into(), "secret".into());
        call
    }

    fn steps(lines: &Lines) -> Vec<String> {
        let told = |line: &serde_json::Value| {
            format!("{} {} {}", line["call"], line["operation"], line["step"]).replace('"', "")
        };
        lines.lock().unwrap().iter().map(told).collect()
    }

    #[tokio::test]
    async fn a_call_and_its_answer_are_one_line_each() {
        let (record, lines) = recorded();
        record.send_message(send()).await.unwrap();
        let unknown = GetTaskRequest { id: "nope".into(), ..Default::default() };
        record.get_task(Call::new(unknown)).await.unwrap_err();
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
    async fn every_event_of_a_stream_is_a_line_and_its_end_too() {
        let (record, lines) = recorded();
        let events = record.send_streaming_message(send()).await.unwrap().response;
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
    async fn a_caller_that_goes_is_told_from_a_stream_that_ends() {
        let (record, lines) = recorded();
        let mut events = record.send_streaming_message(send()).await.unwrap().response;
        events.next().await.unwrap().unwrap();
        drop(events);
        assert_eq!(steps(&lines).last().unwrap(), "1 SendStreamingMessage gone");
    }
}
