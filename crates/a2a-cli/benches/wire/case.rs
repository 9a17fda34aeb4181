//! What is asked of the servers.

use a2a_core::{
    Message,
    v1::{GetTaskRequest, SendMessageRequest},
};
use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message as _;

/// The chunks of a streamed answer.
pub(crate) const CHUNKS: usize = 100;
/// The events of one: the task, a status, the chunks, a last status.
pub(crate) const EVENTS: usize = CHUNKS + 3;

/// A kind of request, and the expected figures relative to the floor.
pub(crate) struct Case {
    pub(crate) binding: Binding,
    pub(crate) what: What,
    /// How many ask at a time, each for the next answer when it has one.
    pub(crate) in_flight: usize,
    /// Rate, relative to the floor's.
    pub(crate) rate: Expected,
    /// Processor time per request, relative to the floor's.
    pub(crate) cpu: Option<Expected>,
}

/// The limit of a figure, and the goal beyond it.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) must: f64,
    pub(crate) goal: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Send,
    Stream,
    Get,
}

const SEND: (f64, f64) = (0.45, 0.65);
const SEND_CPU: Option<(f64, f64)> = Some((2.2, 1.5));
const GET: (f64, f64) = (0.75, 0.95);

/// Every case.
pub(crate) static CASES: [Case; 11] = [
    case(Binding::JsonRpc, What::Send, 16, SEND, SEND_CPU),
    case(Binding::JsonRpc, What::Send, 64, SEND, SEND_CPU),
    case(Binding::Rest, What::Send, 16, SEND, SEND_CPU),
    case(Binding::Rest, What::Send, 64, SEND, SEND_CPU),
    case(Binding::Grpc, What::Send, 16, (0.60, 0.80), None),
    case(Binding::Grpc, What::Send, 64, (0.60, 0.80), None),
    case(Binding::JsonRpc, What::Stream, 64, (0.35, 0.80), None),
    case(Binding::Grpc, What::Stream, 64, (0.30, 0.50), None),
    case(Binding::JsonRpc, What::Get, 64, GET, None),
    case(Binding::Rest, What::Get, 64, GET, None),
    case(Binding::Grpc, What::Get, 64, GET, None),
];

const fn case(
    binding: Binding,
    what: What,
    in_flight: usize,
    (must, goal): (f64, f64),
    cpu: Option<(f64, f64)>,
) -> Case {
    let cpu = match cpu {
        Some((must, goal)) => Some(Expected { must, goal }),
        None => None,
    };
    Case { binding, what, in_flight, rate: Expected { must, goal }, cpu }
}

impl Case {
    pub(crate) fn name(&self) -> String {
        let binding = match self.binding {
            Binding::JsonRpc => "JSON-RPC",
            Binding::Rest => "HTTP+JSON",
            Binding::Grpc => "gRPC",
        };
        let what = match self.what {
            What::Send => "SendMessage".to_owned(),
            What::Stream => format!("streams of {EVENTS} events"),
            What::Get => "GetTask".to_owned(),
        };
        format!("{binding} {what}, {} at a time", self.in_flight)
    }

    /// What is sent over HTTP/1.1, as it goes over the connection.
    pub(crate) fn request(&self, host: &str, task_id: &str) -> Bytes {
        let (path, params) = match self.what {
            What::Send => ("message:send", message("hello")),
            What::Stream => ("message:stream", message(&format!("stream:{CHUNKS}"))),
            What::Get => ("", format!(r#"{{"id":"{task_id}"}}"#)),
        };
        let method = match self.what {
            What::Send => "SendMessage",
            What::Stream => "SendStreamingMessage",
            What::Get => "GetTask",
        };
        let (line, body) = match (self.binding, self.what) {
            (Binding::Rest, What::Get) => (format!("GET /tasks/{task_id}"), String::new()),
            (Binding::Rest, _) => (format!("POST /{path}"), params),
            _ => (
                "POST /".to_owned(),
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#),
            ),
        };
        format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             a2a-version: 1.0\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into()
    }

    /// The path of the method, and the message in its frame.
    pub(crate) fn call(&self, task_id: &str) -> (String, Bytes) {
        let asking = |text: &str| SendMessageRequest {
            message: Some(Message::user(text)),
            ..SendMessageRequest::default()
        };
        let (method, message) = match self.what {
            What::Send => ("SendMessage", asking("hello").encode_to_vec()),
            What::Stream => {
                ("SendStreamingMessage", asking(&format!("stream:{CHUNKS}")).encode_to_vec())
            }
            What::Get => {
                let request = GetTaskRequest { id: task_id.into(), ..GetTaskRequest::default() };
                ("GetTask", request.encode_to_vec())
            }
        };
        (format!("/lf.a2a.v1.A2AService/{method}"), framed(&message))
    }

    /// The events in a good answer; one where it is no stream.
    pub(crate) fn events(&self) -> usize {
        if self.what == What::Stream { EVENTS } else { 1 }
    }

    /// What stands in every good answer.
    pub(crate) fn mark(&self) -> &'static [u8] {
        match self.what {
            What::Send | What::Get => b"Echo: hello",
            What::Stream => b"chunk 0099 of the streamed answer",
        }
    }
}

fn message(text: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#)
}

/// A message as gRPC sends it: not compressed, its length, itself.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).expect("it is small"));
    frame.put_slice(message);
    frame.freeze()
}
