use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;

/// The longest that a call may take to be answered: a node that is stopped never answers.
const ANSWER: Duration = Duration::from_secs(10);
/// The longest silence of a stream: a node that is well writes something every 15 s.
const SILENCE: Duration = Duration::from_secs(18);

/// Calls agents by HTTP+JSON, without any of our client.
#[derive(Clone, Debug)]
pub struct Http {
    client: reqwest::Client,
}

/// Why a call gave nothing.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The node is not there, or was cut off: another one may answer.
    Gone(String),
    /// The node answered with this status.
    Refused(u16, Value),
}

/// An event as it is on the wire.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its position.
    pub id: u64,
    /// Its content.
    pub data: Value,
}

/// Events as they come.
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
        // The client wants to be able to speak TLS, though nobody here does.
        let _there_already = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().connect_timeout(Duration::from_secs(3)).no_proxy();
        Self { client: client.build().expect("nothing is asked for that could be refused") }
    }
}

impl Http {
    /// Posts a document, and returns the one that comes back.
    pub async fn post(&self, url: &str, body: &Value) -> Result<Value, Problem> {
        let request = self.client.post(url).json(body).header("a2a-version", "1.0").send();
        let answer = timeout(ANSWER, request).await.map_err(late)?.map_err(gone)?;
        document(answer).await
    }

    /// Gets a document.
    pub async fn get(&self, url: &str) -> Result<Value, Problem> {
        let request = self.client.get(url).header("a2a-version", "1.0").send();
        let answer = timeout(ANSWER, request).await.map_err(late)?.map_err(gone)?;
        document(answer).await
    }

    /// Sends a message, under a key that makes one of several tries, and streams what comes.
    pub async fn send(&self, node: &str, key: &str, body: &Value) -> Result<Sse, Problem> {
        let request = self.client.post(format!("{node}/message:stream")).json(body);
        Self::open(request.header("idempotency-key", key)).await
    }

    /// Streams the events of a task behind a position.
    pub async fn subscribe(&self, node: &str, task: &str, after: u64) -> Result<Sse, Problem> {
        let request = self.client.post(format!("{node}/tasks/{task}:subscribe"));
        Self::open(request.header("last-event-id", after.to_string())).await
    }

    async fn open(request: reqwest::RequestBuilder) -> Result<Sse, Problem> {
        let request = request.header("a2a-version", "1.0").send();
        let answer = timeout(ANSWER, request).await.map_err(late)?.map_err(gone)?;
        if !answer.status().is_success() {
            return Err(match document(answer).await {
                Ok(document) => Problem::Refused(200, document),
                Err(problem) => problem,
            });
        }
        Ok(Sse { bytes: answer.bytes_stream().boxed(), rest: Vec::new() })
    }
}

async fn document(answer: reqwest::Response) -> Result<Value, Problem> {
    let status = answer.status();
    let body = timeout(ANSWER, answer.bytes()).await.map_err(late)?.map_err(gone)?;
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() { Ok(value) } else { Err(Problem::Refused(status.as_u16(), value)) }
}

fn gone(error: reqwest::Error) -> Problem {
    Problem::Gone(error.to_string())
}

fn late(_: tokio::time::error::Elapsed) -> Problem {
    Problem::Gone("no answer".into())
}

impl Problem {
    /// Whether the same call may work elsewhere, or later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Gone(_) => true,
            Self::Refused(status, _) => matches!(status, 429 | 500 | 502..=504),
        }
    }
}

impl Sse {
    /// The next event; `None` where the stream has ended as it should.
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
                Err(elapsed) => return Err(late(elapsed)),
                Ok(Some(Ok(bytes))) => self.rest.extend_from_slice(&bytes),
                Ok(Some(Err(error))) => return Err(gone(error)),
                Ok(None) => return Ok(None),
            }
        }
    }
}

/// Reads a block of a stream: an event, an error that ends it, or nothing but a sign of life.
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
            Err(Problem::Gone(Value::Object(object).to_string()))
        }
        (Some(id), Some(data)) => Ok(Some(Event { id, data })),
        _ => Ok(None),
    }
}
