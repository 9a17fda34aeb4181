//! Requests, as they go over the connection, and what a correct response contains.

use a2a_core::{
    Message,
    v1::{GetTaskRequest, SendMessageRequest},
};
use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message as _;

use crate::server::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

impl Binding {
    /// Whether a server has this binding.
    pub(crate) fn is_served_by(self, server: &Server) -> bool {
        match self {
            Self::JsonRpc => true,
            Self::Rest => server.rest_prefix().is_some(),
            Self::Grpc => server.grpc().is_some(),
        }
    }
}

/// What is asked. The texts are those that the echo agent knows.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// Sends a message, and waits for its echo.
    Send(&'static str),
    /// Sends a message, and waits for the demo agent to complete the task.
    Demo(&'static str),
    /// Sends a message, and waits for the task to complete.
    Complete(&'static str),
    /// Sends a message, and does not wait.
    SendAndReturn(&'static str),
    /// Sends a message, and reads the events.
    Stream(usize),
    Get(String),
    /// Gets a task whose history has many messages.
    GetHistory(String),
    /// The first page of tasks, with their artifacts and history, as the floor answers it.
    List,
    Subscribe(String),
}

/// The tasks on a page.
pub(crate) const PAGE_SIZE: usize = 50;

impl Ask {
    fn method(&self) -> &'static str {
        match self {
            Self::Send(_) | Self::Demo(_) | Self::Complete(_) | Self::SendAndReturn(_) => {
                "SendMessage"
            }
            Self::Stream(_) => "SendStreamingMessage",
            Self::Get(_) | Self::GetHistory(_) => "GetTask",
            Self::List => "ListTasks",
            Self::Subscribe(_) => "SubscribeToTask",
        }
    }

    /// The parameters as JSON.
    fn params(&self) -> String {
        let message = |text: &str| {
            format!(
                r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}"#
            )
        };
        match self {
            Self::Send(text) | Self::Demo(text) | Self::Complete(text) => {
                format!("{}}}", message(text))
            }
            Self::SendAndReturn(text) => {
                format!(r#"{},"configuration":{{"returnImmediately":true}}}}"#, message(text))
            }
            Self::Stream(events) => format!("{}}}", message(&format!("stream:{events}"))),
            Self::Get(id) | Self::GetHistory(id) | Self::Subscribe(id) => {
                format!(r#"{{"id":"{id}"}}"#)
            }
            Self::List => {
                format!(r#"{{"pageSize":{PAGE_SIZE},"includeArtifacts":true,"historyLength":1}}"#)
            }
        }
    }

    /// An HTTP/1.1 request by JSON-RPC or HTTP+JSON.
    pub(crate) fn http(&self, binding: Binding, server: &Server) -> Bytes {
        let prefix = server.rest_prefix().unwrap_or_default();
        let (line, body) = match (binding, self) {
            (Binding::Rest, Self::Send(_) | Self::Demo(_)) => {
                (format!("POST {prefix}/message:send"), self.params())
            }
            (Binding::Rest, Self::Stream(_)) => {
                (format!("POST {prefix}/message:stream"), self.params())
            }
            (Binding::Rest, Self::Get(id)) => (format!("GET {prefix}/tasks/{id}"), String::new()),
            (Binding::Rest, _) => unreachable!("no case asks for {self:?} over HTTP+JSON"),
            (Binding::JsonRpc | Binding::Grpc, _) => (
                format!("POST {}", server.jsonrpc_path()),
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"{}","params":{}}}"#,
                    self.method(),
                    self.params()
                ),
            ),
        };
        let authorization = match &server.authorization {
            Some(value) => format!("authorization: {value}\r\n"),
            None => String::new(),
        };
        format!(
            "{line} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             a2a-version: 1.0\r\n{authorization}content-length: {}\r\n\r\n{body}",
            server.http(),
            body.len()
        )
        .into()
    }

    /// The path of the method, and the message in its gRPC frame.
    pub(crate) fn grpc(&self) -> (String, Bytes) {
        let send = |text: &str| {
            let message = Some(Message::user(text));
            SendMessageRequest { message, ..SendMessageRequest::default() }.encode_to_vec()
        };
        let message = match self {
            Self::Send(text) | Self::Demo(text) => send(text),
            Self::Stream(events) => send(&format!("stream:{events}")),
            Self::Get(id) => {
                GetTaskRequest { id: id.clone(), ..GetTaskRequest::default() }.encode_to_vec()
            }
            _ => unreachable!("no case asks for {self:?} over gRPC"),
        };
        (format!("/lf.a2a.v1.A2AService/{}", self.method()), framed(&message))
    }

    /// The text that is in every correct response.
    pub(crate) fn mark(&self) -> String {
        match self {
            Self::Send(text) => format!("Echo: {text}"),
            Self::Get(_) => "Echo: hello".to_owned(),
            // The name of its artifact.
            Self::Demo(_) => "echo".to_owned(),
            Self::Complete(_) | Self::GetHistory(_) | Self::List => {
                "TASK_STATE_COMPLETED".to_owned()
            }
            Self::Stream(events) => format!("chunk {:04} of the streamed answer", events - 1),
            Self::SendAndReturn(_) | Self::Subscribe(_) => String::new(),
        }
    }

    /// The fewest events in a correct response; a response that is no stream counts as one. The
    /// chunks and the final status are certain; agents differ in what comes before.
    pub(crate) fn min_events(&self) -> usize {
        match self {
            Self::Stream(events) => events + 1,
            _ => 1,
        }
    }
}

/// A message as gRPC sends it: not compressed, its length, the message.
fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).expect("requests are small"));
    frame.put_slice(message);
    frame.freeze()
}
