use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

/// Timeout of a call: a stopped node never responds.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Timeout of a connection.
pub(super) const CONNECT: Duration = Duration::from_secs(3);
/// Read timeout of a stream: a healthy node writes at least every 15 s.
pub(super) const SILENCE: Duration = Duration::from_secs(18);
const STREAM: &[u8] = b"text/event-stream";

/// A raw HTTP client, independent of this project's client.
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
        let client = reqwest::Client::builder().connect_timeout(CONNECT).no_proxy();
        Self { client: client.build().expect("valid settings") }
    }
}

impl Http {
    /// Posts a document with more headers, and returns the response.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &Value,
    ) -> Result<Value, Problem> {
        document(Self::answer(headers, self.client.post(url).json(body)).await?).await
    }

    /// Gets a document.
    pub async fn get(&self, url: &str, query: &[(&str, &str)]) -> Result<Value, Problem> {
        let url = Url::parse_with_params(url, query).expect("a valid URL");
        document(Self::answer(&[], self.client.get(url)).await?).await
    }

    /// Posts a document with more headers, and streams the response.
    pub async fn stream(
        &self,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &Value,
    ) -> Result<Sse, Problem> {
        let answer = Self::answer(headers, self.client.post(url).json(body)).await?;
        let content_type = answer.headers().get("content-type");
        let is_stream = content_type.is_some_and(|kind| kind.as_bytes().starts_with(STREAM));
        if !answer.status().is_success() || !is_stream {
            // Over JSON-RPC an error has status 200.
            return Err(document(answer).await.map_or_else(|problem| problem, Problem::from_body));
        }
        Ok(Sse { bytes: answer.bytes_stream().boxed(), rest: Vec::new() })
    }

    async fn answer(
        headers: &[(&'static str, &str)],
        mut request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, Problem> {
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.header("a2a-version", "1.0").send();
        timeout(ANSWER, request).await.map_err(timed_out)?.map_err(unreachable)
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

pub(super) fn timed_out(_: tokio::time::error::Elapsed) -> Problem {
    Problem::Unreachable("timeout".into())
}

impl Problem {
    /// The error in a body of HTTP+JSON or JSON-RPC, with the HTTP status of its code.
    pub(super) fn from_body(body: Value) -> Self {
        let status = match body["error"]["code"].as_i64() {
            Some(status @ 100..=599) => u16::try_from(status).unwrap_or(500),
            Some(-32001) => 404,
            // Those that have a status of their own are transient, too.
            Some(-32603) => 500,
            _ => 400,
        };
        Self::Rejected(status, body)
    }

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
            Err(Problem::from_body(object.into()))
        }
        (Some(id), Some(data)) => Ok(Some(Event { id, data })),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_of_both_json_bindings_have_the_status_of_their_code() {
        for (code, expected) in [(503, 503), (-32001, 404), (-32603, 500), (-32002, 400)] {
            let problem = Problem::from_body(json!({ "error": { "code": code } }));
            assert!(matches!(problem, Problem::Rejected(status, _) if status == expected));
        }
    }

    #[test]
    fn keep_alives_are_no_events_and_errors_end_a_stream() {
        assert!(matches!(read(": ping\n\n"), Ok(None)));
        let event = read("id: 3\ndata: {\"x\":1}\n\n").unwrap().unwrap();
        assert_eq!((event.id, event.data), (3, json!({ "x": 1 })));
        let error = read("event: error\ndata: {\"error\":{\"code\":503}}\n\n");
        assert!(matches!(error, Err(Problem::Rejected(503, _))));
    }
}
