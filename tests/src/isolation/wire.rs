//! Raw requests and responses.

use std::{net::SocketAddr, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};

/// Timeout of a response.
const LIMIT: Duration = Duration::from_secs(20);

/// A request without its caller.
#[derive(Clone, Debug)]
pub struct WireRequest {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
    pub http2: bool,
}

/// How much of a response to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All of it.
    End,
    /// The head and the first piece of the body: an event stream may never end.
    FirstFrame,
}

/// A response without its date.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, Vec<u8>)>,
}

/// A client for HTTP/1.1 and HTTP/2.
#[derive(Clone, Debug)]
pub struct Client {
    http1: legacy::Client<HttpConnector, Full<Bytes>>,
    http2: legacy::Client<HttpConnector, Full<Bytes>>,
    /// The header that identifies a caller, and its value.
    pub(super) credential: fn(&str) -> (&'static str, String),
}

impl Default for Client {
    fn default() -> Self {
        let builder = || {
            let mut builder = legacy::Client::builder(TokioExecutor::new());
            builder.pool_timer(TokioTimer::new());
            builder
        };
        let connector = || {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            connector
        };
        Self {
            http1: builder().build(connector()),
            http2: builder().http2_only(true).build(connector()),
            credential: |caller| (super::CALLER, caller.to_owned()),
        }
    }
}

impl Client {
    /// Makes a request as a caller.
    pub async fn request(
        &self,
        address: SocketAddr,
        caller: Option<&str>,
        request: &WireRequest,
        until: Until,
    ) -> Answer {
        let detail = format!("{} {} by {caller:?}", request.method, request.path);
        let mut builder = Request::builder()
            .method(request.method.clone())
            .uri(format!("http://{address}{}", request.path));
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        if let Some(caller) = caller {
            let (name, value) = (self.credential)(caller);
            builder = builder.header(name, value);
        }
        let http_request = builder.body(Full::new(request.body.clone())).expect("a request");
        let client = if request.http2 { &self.http2 } else { &self.http1 };
        let answer = async {
            let response = client.request(http_request).await.expect("a response");
            Answer::read(response, until).await.expect("a complete response")
        };
        let answer = tokio::time::timeout(LIMIT, answer).await;
        answer.unwrap_or_else(|_| panic!("timeout of {detail}"))
    }
}

impl Answer {
    /// Reads a response.
    ///
    /// # Errors
    ///
    /// If the connection ends early.
    pub async fn read(response: Response<Incoming>, until: Until) -> hyper::Result<Self> {
        let (parts, mut body) = response.into_parts();
        let mut bytes = BytesMut::new();
        let mut trailers = HeaderMap::new();
        while let Some(frame) = body.frame().await {
            match frame?.into_data() {
                Ok(data) => bytes.extend_from_slice(&data),
                Err(frame) => trailers = frame.into_trailers().unwrap_or_default(),
            }
            if until == Until::FirstFrame && !bytes.is_empty() {
                break;
            }
        }
        Ok(Self {
            status: parts.status.as_u16(),
            headers: listed(&parts.headers),
            body: bytes.to_vec(),
            trailers: listed(&trailers),
        })
    }

    /// The response with all occurrences of an id replaced.
    #[must_use]
    pub fn with(mut self, id: &str, instead: &str) -> Self {
        for (_, value) in self.headers.iter_mut().chain(&mut self.trailers) {
            *value = replaced(value, id.as_bytes(), instead.as_bytes());
        }
        self.body = replaced(&self.body, id.as_bytes(), instead.as_bytes());
        self
    }

    /// A header, or a trailer, as text.
    pub fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.headers.iter().chain(&self.trailers);
        let (_, value) = lines.find(|(known, _)| known == name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Whether it contains the text anywhere.
    pub fn names(&self, text: &str) -> bool {
        let has = |bytes: &[u8]| find(bytes, text.as_bytes()).is_some();
        let lines = self.headers.iter().chain(&self.trailers);
        has(&self.body) || lines.into_iter().any(|(_, value)| has(value))
    }

    /// Its body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, value) in self.headers.iter().chain(&self.trailers) {
            writeln!(f, "{name}: {}", value.escape_ascii())?;
        }
        write!(f, "{}", self.body.escape_ascii())
    }
}

/// Headers in the order of their names, their details decoded so that ids are found in them.
fn listed(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
    let mut listed: Vec<_> = headers
        .iter()
        .filter(|(name, _)| *name != http::header::DATE)
        .map(|(name, value)| {
            let mut bytes = value.as_bytes().to_vec();
            if name.as_str().ends_with("-bin") {
                let text = value.to_str().unwrap_or_default().trim_end_matches('=');
                bytes = STANDARD_NO_PAD.decode(text).unwrap_or(bytes);
            }
            (name.to_string(), bytes)
        })
        .collect();
    listed.sort();
    listed
}

fn replaced(text: &[u8], id: &[u8], instead: &[u8]) -> Vec<u8> {
    let mut left = text;
    let mut out = Vec::with_capacity(text.len());
    while let Some(at) = find(left, id) {
        out.extend_from_slice(&left[..at]);
        out.extend_from_slice(instead);
        left = &left[at + id.len()..];
    }
    out.extend_from_slice(left);
    out
}

fn find(text: &[u8], sought: &[u8]) -> Option<usize> {
    text.windows(sought.len().max(1)).position(|window| window == sought)
}
