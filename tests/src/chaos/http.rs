use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;

/// Timeout of a call: a stopped node never responds.
const ANSWER: Duration = Duration::from_secs(10);
/// Read timeout of a stream: a healthy node writes at least every 15 s.
const SILENCE: Duration = Duration::from_secs(18);

/// A raw HTTP+JSON client, independent of this project's client.
#[derive(Clone, Debug)]
pub struct Http {
    client: reqwest::Client,
}

/// The failure of a call.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The node is down or disconnected; another one may respond.
    Unreachable(String),
    /// The node responded with this status.
    Rejected(u16, Value),
}

/// An event on the wire.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its position.
    pub id: u64,
    /// Its content.
    pub data: Value,
}

/// A stream of events.
pub struct Sse {
    bytes: futures_util::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    rest: Vec<u8>,
}

impl std::fmt::Debug for Sse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sse").field("rest", &self.rest.len()).finish_non_exhaustive()
    }
}

impl Default for Http {
    fn default() -> Self {
        // The client requires a TLS provider, although TLS is not used here.
        let _there_already = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().connect_timeout(Duration::from_secs(3)).no_proxy();
        Self { client: client.build().expect("valid settings") }
    }
}

impl Http {
    /// Posts a document, and returns the response.
    pub async fn post(&self, url: &str, body: &Value) -> Result<Value, Problem> {
        let request = self.client.post(url).json(body).header("a2a-version", "1.0").send();
        let answer = timeout(ANSWER, request).await.map_err(timed_out)?.map_err(unreachable)?;
        document(answer).await
    }

    /// Gets a document.
    pub async fn get(&self, url: &str) -> Result<Value, Problem> {
        let request = self.client.get(url).header("a2a-version", "1.0").send();
        let answer = timeout(ANSWER, request).await.map_err(timed_out)?.map_err(unreachable)?;
        document(answer).await
    }

    /// Sends a message with an idempotency key, and streams the response.
    pub async fn send(&self, node: &str, key: &str, body: &Value) -> Result<Sse, Problem> {
        let request = self.client.post(format!("{node}/message:stream")).json(body);
        Self::open(request.header("idempotency-key", key)).await
    }

    /// Streams the events of a task after a position.
    pub async fn subscribe(&self, node: &str, task: &str, after: u64) -> Result<Sse, Problem> {
        let request = self.client.post(format!("{node}/tasks/{task}:subscribe"));
        Self::open(request.header("last-event-id", after.to_string())).await
    }

    async fn open(request: reqwest::RequestBuilder) -> Result<Sse, Problem> {
        let request = request.header("a2a-version", "1.0").send();
        let answer = timeout(ANSWER, request).await.map_err(timed_out)?.map_err(unreachable)?;
        if !answer.status().is_success() {
            return Err(match document(answer).await {
                Ok(document) => Problem::Rejected(200, document),
                Err(problem) => problem,
            });
        }
        Ok(Sse { bytes: answer.bytes_stream().boxed(), rest: Vec::new() })
    }
}

async fn document(answer: reqwest::Response) -> Result<Value, Problem> {
    let status = answer.status();
    let body = timeout(ANSWER, answer.bytes()).await.map_err(timed_out)?.map_err(unreachable)?;
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() { Ok(value) } else { Err(Problem::Rejected(status.as_u16(), value)) }
}

fn unreachable(error: reqwest::Error) -> Problem {
    Problem::Unreachable(error.to_string())
}

fn timed_out(_: tokio::time::error::Elapsed) -> Problem {
    Problem::Unreachable("timeout".into())
}

impl Problem {
    /// Whether a retry on the same or another node may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Rejected(status, _) => matches!(status, 429 | 500 | 502..=504),
        }
    }
}

impl Sse {
    /// The next event; `None` at a regular end of the stream.
    pub async fn next(&mut self) -> Result<Option<Event>, Problem> {
        loop {
            if let Some(end) = self.rest.windows(2).position(|bytes| bytes == b"\n\n") {
                let block: Vec<u8> = self.rest.drain(..end + 2).collect();
                if let Some(event) = read(&String::from_utf8_lossy(&block))? {
                    return Ok(Some(event));
                }
                continue;
            }
            match timeout(SILENCE, self.bytes.next()).await {
                Err(elapsed) => return Err(timed_out(elapsed)),
                Ok(Some(Ok(bytes))) => self.rest.extend_from_slice(&bytes),
                Ok(Some(Err(error))) => return Err(unreachable(error)),
                Ok(None) => return Ok(None),
            }
        }
    }
}

/// Parses a block of a stream: an event, a final error, or a keep-alive.
fn read(block: &str) -> Result<Option<Event>, Problem> {
    let mut id = None;
    let mut data = None;
    for line in block.lines() {
        if let Some(text) = line.strip_prefix("id: ") {
            id = text.parse().ok();
        } else if let Some(text) = line.strip_prefix("data: ") {
            data = serde_json::from_str(text).ok();
        }
    }
    match (id, data) {
        (_, Some(Value::Object(object))) if object.contains_key("error") => {
            Err(Problem::Unreachable(Value::Object(object).to_string()))
        }
        (Some(id), Some(data)) => Ok(Some(Event { id, data })),
        _ => Ok(None),
    }
}
