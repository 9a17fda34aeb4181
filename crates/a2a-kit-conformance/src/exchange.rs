//! Recorded exchanges: one request to the agent and its response.

use std::time::Duration;

use a2a_core::TaskState;
use a2a_kit_client::Transport;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

/// One request to the agent, and its response.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) binding: Transport,
    /// The name of the operation, or a description of a request that is none.
    pub(crate) operation: &'static str,
    /// The parameters, in the JSON form of the revision.
    pub(crate) params: Value,
    /// The JSON-RPC id of the request.
    pub(crate) id: Option<Value>,
    pub(crate) request: RecordedRequest,
    pub(crate) response: RecordedResponse,
    /// What the response says, whatever the binding.
    pub(crate) answer: Answer,
    pub(crate) elapsed: Duration,
}

/// A request as sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedRequest {
    /// Method and URL.
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A response as received.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedResponse {
    /// The HTTP status; 0 without a response.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The body; of gRPC, the messages as JSON lines.
    pub(crate) body: Bytes,
    /// The trailers of gRPC.
    pub(crate) trailers: HeaderMap,
}

impl RecordedResponse {
    /// The media type without parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let value = self.headers.get(http::header::CONTENT_TYPE);
        let text = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// What a response says.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The result of a unary operation.
    Result(Value),
    /// An error of the protocol.
    Error(ErrorAnswer),
    /// A stream of events.
    Events(EventStream),
    /// Nothing usable, and why.
    Unusable(String),
}

/// An error, in the terms of each binding.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorAnswer {
    /// The code of JSON-RPC, the HTTP status of HTTP+JSON, or the status code of gRPC.
    pub(crate) code: i64,
    pub(crate) message: Option<String>,
    /// `ErrorInfo.reason`.
    pub(crate) reason: Option<String>,
    /// `ErrorInfo.domain`.
    pub(crate) domain: Option<String>,
    /// All details, as JSON.
    pub(crate) details: Vec<Value>,
    /// The whole error object.
    pub(crate) object: Value,
}

/// The events of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventStream {
    pub(crate) events: Vec<Event>,
    /// An error that the stream carried.
    pub(crate) error: Option<ErrorAnswer>,
    pub(crate) end: StreamEnd,
    /// Faults of the framing or of an envelope.
    pub(crate) framing: Vec<String>,
}

/// One event of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) value: Value,
    /// The time since the request.
    pub(crate) at: Duration,
}

/// How a stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The server ended it.
    #[default]
    Closed,
    /// It was open when the time was over; the client ended it.
    Open,
    /// The connection failed.
    Failed(String),
}

impl Exchange {
    /// The result of a unary operation.
    pub(crate) fn result(&self) -> Option<&Value> {
        match &self.answer {
            Answer::Result(value) => Some(value),
            _ => None,
        }
    }

    /// The task of a response: a bare one or the member `task`.
    pub(crate) fn task(&self) -> Option<&Value> {
        let result = self.result()?;
        match result.get("task") {
            Some(task) if task.is_object() => Some(task),
            _ => Some(result).filter(|value| value.get("status").is_some_and(Value::is_object)),
        }
    }

    /// The error, also if it is the only thing in a stream.
    pub(crate) fn error(&self) -> Option<&ErrorAnswer> {
        match &self.answer {
            Answer::Error(error) => Some(error),
            Answer::Events(stream) if stream.events.is_empty() => stream.error.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn stream(&self) -> Option<&EventStream> {
        match &self.answer {
            Answer::Events(stream) => Some(stream),
            _ => None,
        }
    }

    /// The events of the stream; none if the answer is no stream.
    pub(crate) fn events(&self) -> &[Event] {
        self.stream().map_or(&[], |stream| &stream.events)
    }

    /// The last state that the stream told.
    pub(crate) fn last_state(&self) -> Option<&str> {
        let mut newest_first = self.events().iter().rev();
        let payload = newest_first
            .find_map(|event| event.value.get("task").or_else(|| event.value.get("statusUpdate")));
        payload.map(state)
    }

    /// Returns whether the answer is a stream, as it should be.
    pub(crate) fn is_streamed(&self) -> bool {
        self.stream().is_some() && is_streaming(self.operation)
    }

    /// Returns whether the operation succeeded.
    pub(crate) fn succeeded(&self) -> bool {
        self.result().is_some() || !self.events().is_empty()
    }

    /// A few words about the answer, for findings.
    pub(crate) fn summary(&self) -> String {
        match &self.answer {
            Answer::Result(value) => match self.task() {
                Some(task) => format!("a task in {}", state(task)),
                None if value.get("message").is_some() => "a message".to_owned(),
                None => "a result".to_owned(),
            },
            Answer::Error(error) => error.summary(),
            Answer::Events(stream) => match (&stream.error, stream.events.len()) {
                (Some(error), 0) => format!("a stream with {}", error.summary()),
                (_, count) => format!("a stream of {count} events"),
            },
            Answer::Unusable(why) => why.clone(),
        }
    }
}

impl ErrorAnswer {
    /// Reads the error object of JSON-RPC or HTTP+JSON.
    pub(crate) fn read(object: &Value) -> Self {
        let details = ["data", "details"].into_iter().find_map(|member| object.get(member));
        let details = match details {
            Some(Value::Array(details)) => details.clone(),
            Some(Value::Null) | None => Vec::new(),
            Some(other) => vec![other.clone()],
        };
        let info = details.iter().find(|detail| {
            let kind = detail.get("@type").and_then(Value::as_str).unwrap_or_default();
            kind.ends_with("google.rpc.ErrorInfo")
        });
        // The draft has a plain object with the reason.
        let info = info.or_else(|| details.iter().find(|detail| detail.get("reason").is_some()));
        let member = |name: &str| Some(info?.get(name)?.as_str()?.to_owned());
        let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            code: object.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: text("message").or_else(|| text("detail")).or_else(|| text("title")),
            reason: member("reason"),
            domain: member("domain"),
            details,
            object: object.clone(),
        }
    }

    pub(crate) fn summary(&self) -> String {
        match &self.reason {
            Some(reason) => format!("error {} ({reason})", self.code),
            None => format!("error {}", self.code),
        }
    }
}

/// Returns whether the answer to an operation of any revision is a stream.
pub(crate) fn is_streaming(operation: &str) -> bool {
    matches!(
        operation,
        "SendStreamingMessage"
            | "SubscribeToTask"
            | "TaskSubscription"
            | "message/stream"
            | "tasks/resubscribe"
            | "tasks/sendSubscribe"
    )
}

/// The state of a task or event, or `no state`. That a state is no number is for another check.
pub(crate) fn state(value: &Value) -> &str {
    match value.pointer("/status/state") {
        Some(Value::String(name)) => name,
        Some(Value::Number(number)) => {
            let number = number.as_i64().and_then(|number| i32::try_from(number).ok());
            let state = number.and_then(|number| TaskState::try_from(number).ok());
            state.map_or("no state", |state| state.as_str_name())
        }
        _ => "no state",
    }
}

/// How many of the members of a stream response a value has.
pub(crate) fn payloads(value: &Value) -> usize {
    let payloads = ["task", "message", "statusUpdate", "artifactUpdate"];
    payloads.iter().filter(|name| value.get(**name).is_some()).count()
}

/// A string member, or nothing.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether a state of any revision is terminal.
pub(crate) fn is_terminal(state: &str) -> bool {
    let names = ["completed", "failed", "canceled", "cancelled", "rejected"];
    names.contains(&&*name_of(state))
}

/// Returns whether a state of any revision is an end or a pause.
pub(crate) fn is_settled(state: &str) -> bool {
    is_terminal(state) || is_interrupted(state)
}

/// Returns whether a state of any revision waits for the client.
pub(crate) fn is_interrupted(state: &str) -> bool {
    ["input-required", "auth-required"].contains(&&*name_of(state))
}

fn name_of(state: &str) -> String {
    state.trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-")
}
