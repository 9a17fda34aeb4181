//! An agent on a raw socket, which answers with exactly the bytes of a test.

use std::sync::{Arc, Mutex, PoisonError};

use a2a_core::ProtocolVersion;
use a2a_kit_compat::client::{JsonRpcClient, RestClient};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::Agent;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What an agent speaks: a binding in JSON, in one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    JsonRpc(ProtocolVersion),
    Rest(ProtocolVersion),
}

use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
use Wire::{JsonRpc, Rest};

impl Wire {
    pub const ALL: [Self; 8] = [
        JsonRpc(V1_0),
        Rest(V1_0),
        JsonRpc(V0_1),
        JsonRpc(V0_2),
        JsonRpc(V0_3),
        JsonRpc(V1Draft),
        Rest(V0_3),
        Rest(V1Draft),
    ];

    fn revision(self) -> ProtocolVersion {
        match self {
            JsonRpc(revision) | Rest(revision) => revision,
        }
    }

    pub fn is_current(self) -> bool {
        self.revision() == V1_0
    }

    /// Whether objects name their kind in a member.
    fn has_kinds(self) -> bool {
        matches!(self, JsonRpc(V0_2 | V0_3))
    }

    /// Whether names of enums have the form of the proto.
    fn has_proto_names(self) -> bool {
        self.is_current() || self == Rest(V0_3)
    }

    /// A client of an agent at `url`.
    pub fn client(self, url: &str) -> Arc<dyn Agent> {
        let http = || HttpClient::new(ClientSettings::default()).expect("a client");
        match self {
            JsonRpc(V1_0) => Arc::new(a2a_kit_jsonrpc::Client::new(url).expect("a client")),
            Rest(V1_0) => Arc::new(a2a_kit_rest::Client::new(url).expect("a client")),
            JsonRpc(revision) => {
                Arc::new(JsonRpcClient::new(url, revision, http()).expect("a client"))
            }
            Rest(revision) => Arc::new(RestClient::new(url, revision, http()).expect("a client")),
        }
    }

    /// The name of a state, such as `WORKING`, in this revision.
    pub fn state(self, state: &str) -> String {
        match self.has_proto_names() {
            true => format!("TASK_STATE_{state}"),
            false => state.to_ascii_lowercase().replace('_', "-"),
        }
    }

    fn tagged(self, kind: &str, member: &str, mut object: Value) -> Value {
        if self.revision() == V0_1 {
            return object;
        }
        if self.has_kinds() {
            object["kind"] = kind.into();
            return object;
        }
        json!({ (member): object })
    }

    /// A task with this spelling of a state, without a tag of its type.
    pub fn bare_task(self, state: &Value) -> Value {
        let context = if self.revision() == V0_1 { "sessionId" } else { "contextId" };
        let mut task = json!({"id": "t", (context): "c", "status": {"state": state}});
        if self.has_kinds() {
            task["kind"] = "task".into();
        }
        task
    }

    /// The event of a task with this spelling of a state.
    pub fn task(self, state: impl Into<Value>) -> Value {
        self.tagged("task", "task", self.bare_task(&state.into()))
    }

    /// The event of a status with this spelling of a state.
    pub fn update(self, state: impl Into<Value>) -> Value {
        let status = json!({"state": state.into()});
        let object = match self.revision() {
            V0_1 => json!({"id": "t", "status": status, "final": false}),
            _ => json!({"taskId": "t", "contextId": "c", "status": status}),
        };
        self.tagged("status-update", "statusUpdate", object)
    }

    /// An artifact with a part of these members.
    pub fn artifact(self, part: Value) -> Value {
        let object = match self.revision() {
            V0_1 => json!({"id": "t", "artifact": {"index": 0, "parts": [part]}}),
            _ => json!({
                "taskId": "t", "contextId": "c",
                "artifact": {"artifactId": "a", "parts": [part]}
            }),
        };
        self.tagged("artifact-update", "artifactUpdate", object)
    }

    /// A part of text.
    pub fn text_part(self, text: &str) -> Value {
        match self {
            JsonRpc(V0_1) => json!({"type": "text", "text": text}),
            JsonRpc(V0_2 | V0_3) => json!({"kind": "text", "text": text}),
            _ => json!({"text": text}),
        }
    }

    /// A part of bytes in Base64.
    pub fn file_part(self, base64: &str) -> Value {
        match self {
            JsonRpc(V1_0) | Rest(V1_0) => json!({"raw": base64}),
            JsonRpc(V0_1) => json!({"type": "file", "file": {"bytes": base64}}),
            JsonRpc(V0_2 | V0_3) => json!({"kind": "file", "file": {"bytes": base64}}),
            JsonRpc(_) | Rest(_) => json!({"file": {"fileWithBytes": base64}}),
        }
    }

    /// A message with this spelling of its role; `None` in 0.1, which has none.
    pub fn message(self, role: &str, text: &str) -> Option<Value> {
        let parts = if self == Rest(V0_3) { "content" } else { "parts" };
        let object = json!({"messageId": "m", "role": role, (parts): [self.text_part(text)]});
        (self.revision() != V0_1).then(|| self.tagged("message", "message", object))
    }

    /// The name of the agent's role in this revision.
    pub fn agent_role(self) -> &'static str {
        if self.has_proto_names() { "ROLE_AGENT" } else { "agent" }
    }

    /// A result as an answer to a request.
    pub fn answer(self, id: &Value, result: &Value) -> Value {
        match self {
            JsonRpc(_) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Rest(_) => result.clone(),
        }
    }

    /// A result as an event of a stream.
    pub fn event(self, id: &Value, result: &Value) -> Vec<u8> {
        format!("data: {}\n\n", self.answer(id, result)).into_bytes()
    }
}

/// A request, as far as agents here look at it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The method of JSON-RPC, or else method and path.
    pub name: String,
    /// The id of JSON-RPC.
    pub id: Value,
}

/// A response: the content type, further lines of the head, and the body.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn new(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, head: format!("content-type: {content_type}\r\n"), body: body.into() }
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }
}

/// An agent that answers each request and closes the connection.
#[derive(Debug)]
pub struct OddAgent {
    pub url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl OddAgent {
    pub async fn start(respond: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let names = Arc::clone(&seen);
        let respond = Arc::new(respond);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (respond, names) = (Arc::clone(&respond), Arc::clone(&names));
                tokio::spawn(async move {
                    let _ = serve(stream, &*respond, &names).await;
                });
            }
        });
        Self { url, seen }
    }

    /// The names of the requests so far.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    respond: &(impl Fn(&Seen) -> Answer + Send + Sync),
    names: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
    while bytes.len() < end + length {
        stream.read_buf(&mut bytes).await?;
    }
    let line = String::from_utf8_lossy(&bytes[..end]).lines().next().unwrap_or("").to_owned();
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    let body: Value = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    let name = body["method"].as_str().map_or(line, str::to_owned);
    names.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
    let Answer { status, head, body } = respond(&Seen { name, id: body["id"].clone() });
    // Delimited by the end of the connection, like an event stream.
    let mut response =
        format!("HTTP/1.1 {status} Any\r\n{head}connection: close\r\n\r\n").into_bytes();
    response.extend_from_slice(&body);
    stream.write_all(&response).await?;
    stream.shutdown().await
}
