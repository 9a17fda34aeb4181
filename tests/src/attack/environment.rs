//! The attacked server, and the credentials of its callers.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{
    canary::Canary,
    issuer::Issuer,
    pipe::{self, Pipe, Reply},
};
use crate::isolation::{Answer, Until, WireRequest};

/// Timeout of well-formed requests.
const ANSWER: Duration = Duration::from_secs(20);
/// Limit of a normal request.
pub(super) const FAST: Duration = Duration::from_millis(100);
/// Number of requests for the median, so that pauses of the machine are tolerated.
const TRIES: usize = 5;
/// Number of attempts before a server counts as slow.
const ROUNDS: usize = 5;
/// Timeout for a line to appear in the log.
const WRITTEN: Duration = Duration::from_secs(5);

/// A server, and what attackers know.
#[derive(Debug)]
pub struct Environment {
    pub address: SocketAddr,
    /// Trusts the server's certificate; `None` for plaintext.
    pub tls: Option<Arc<ClientConfig>>,
    /// The trust anchors of `tls`.
    pub roots: Arc<RootCertStore>,
    pub issuer: Issuer,
    /// The tokens of two authorized callers.
    pub ann: String,
    pub bob: Option<String>,
    /// The server of the issuer's keys, if they are fetched.
    pub keys: Option<Canary>,
    /// A server that the attacked one must not call.
    pub canary: Canary,
    pub process: Option<Process>,
}

/// The process of the server.
#[derive(Clone, Debug)]
pub struct Process {
    pub id: u32,
    pub log: PathBuf,
}

impl Process {
    /// Resident memory, in bytes; `None` after its exit.
    pub fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        Some(kib << 10)
    }

    /// The log.
    pub fn logged(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Environment {
    /// A connection for HTTP/1.1.
    pub(super) async fn pipe(&self) -> io::Result<Pipe> {
        pipe::connect(self.address, self.tls.as_ref(), b"http/1.1").await
    }

    /// A connection for HTTP/2.
    pub(super) async fn pipe2(&self) -> io::Result<Pipe> {
        pipe::connect(self.address, self.tls.as_ref(), b"h2").await
    }

    /// Sends raw bytes on a new connection.
    pub(super) async fn raw(&self, bytes: &[u8], wait: Duration) -> Result<Reply, String> {
        let mut pipe = self.pipe().await.map_err(|error| format!("failed to connect: {error}"))?;
        Ok(pipe::exchange(&mut pipe, bytes, wait).await)
    }

    /// Makes an HTTP/1.1 request with raw headers, and closes the connection.
    pub(super) async fn request(
        &self,
        line: &str,
        headers: &str,
        body: &[u8],
    ) -> Result<Reply, String> {
        let length = body.len();
        let mut bytes = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        self.raw(&bytes, ANSWER).await
    }

    /// Makes a JSON-RPC request as ann, with a raw body.
    pub(super) async fn post(&self, body: &[u8]) -> Result<Reply, String> {
        self.request("POST /", &format!("{}{JSON}", bearer(&self.ann)), body).await
    }

    /// Calls a method of 1.0.
    pub(super) async fn call(
        &self,
        token: &str,
        method: &str,
        params: Value,
    ) -> Result<(u16, Value), String> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = format!("{}{JSON}", bearer(token));
        let reply = self.request("POST /", &headers, body.to_string().as_bytes()).await?;
        let text = reply.text();
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let status = reply.status().ok_or_else(|| format!("no response to {method}"))?;
        Ok((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// Calls a method of 1.0 as ann, which has to succeed.
    pub(super) async fn works(&self, method: &str, params: Value) -> Result<Value, String> {
        let (status, answer) = self.call(&self.ann, method, params).await?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("{method} failed: HTTP {status} {answer}")),
        }
    }

    /// Creates a task of ann.
    pub(super) async fn task(&self, text: &str) -> Result<String, String> {
        let result = self.works("SendMessage", at_once(text)).await?;
        let id = result["task"]["id"].as_str();
        id.map(str::to_owned).ok_or_else(|| format!("no task: {result}"))
    }

    /// Makes a well-formed request of any binding.
    pub(super) async fn execute(
        &self,
        wire: &WireRequest,
        token: Option<&str>,
    ) -> Result<Answer, String> {
        let mut request = Request::builder().method(wire.method.clone());
        request = match wire.http2 {
            true => request.uri(format!("http://localhost{}", wire.path)),
            false => request.uri(&wire.path).header("host", "localhost"),
        };
        for (name, value) in &wire.headers {
            request = request.header(*name, value);
        }
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(wire.body.clone())).map_err(|e| e.to_string())?;
        let answered = timeout(ANSWER, self.send(request, wire.http2)).await;
        answered
            .map_err(|_elapsed| "response timeout".to_owned())?
            .map_err(|error| error.to_string())
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        http2: bool,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        if http2 {
            let io = TokioIo::new(self.pipe2().await?);
            let (mut sender, connection) = conn::http2::handshake(TokioExecutor::new(), io).await?;
            let driver = tokio::spawn(connection);
            let answer = Answer::read(sender.send_request(request).await?, Until::End).await;
            driver.abort();
            return Ok(answer?);
        }
        let (mut sender, connection) =
            conn::http1::handshake(TokioIo::new(self.pipe().await?)).await?;
        let driver = tokio::spawn(connection);
        let answer = Answer::read(sender.send_request(request).await?, Until::End).await;
        driver.abort();
        Ok(answer?)
    }

    /// Measures the median time of normal requests; fails if it exceeds the limit.
    pub(super) async fn is_served(&self) -> Result<Duration, String> {
        let mut middle = Duration::MAX;
        for round in 0..ROUNDS {
            if round > 0 {
                sleep(Duration::from_secs(1)).await;
            }
            let mut times = Vec::new();
            for _ in 0..TRIES {
                let start = Instant::now();
                self.works("SendMessage", waiting("echo are you well?")).await?;
                times.push(start.elapsed());
            }
            times.sort_unstable();
            middle = times[TRIES / 2].min(middle);
            if middle <= FAST {
                return Ok(middle);
            }
        }
        Err(format!("a normal request takes {middle:.0?}"))
    }

    /// The log of everything before this call. The server writes its log asynchronously but in
    /// order, so this waits for the line of one more operation.
    pub(super) async fn logged(&self) -> Result<String, String> {
        let Some(process) = &self.process else { return Ok(String::new()) };
        let mark = format!("logged-{}", a2a_core::fresh_id());
        self.call(&self.ann, "GetTask", json!({"id": mark})).await?;
        let deadline = Instant::now() + WRITTEN;
        loop {
            let log = process.logged();
            if log.contains(&mark) {
                return Ok(log);
            }
            if Instant::now() > deadline {
                return Err(format!("{mark} is missing in the log after {WRITTEN:?}"));
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The headers of a JSON-RPC request of 1.0.
pub(super) const JSON: &str = "content-type: application/json\r\na2a-version: 1.0\r\n";

/// The header with a token.
pub(super) fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// The parameters of a send that waits for its end.
pub(super) fn waiting(text: &str) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The parameters of a send that returns immediately.
pub(super) fn at_once(text: &str) -> Value {
    let mut params = waiting(text);
    params["configuration"] = json!({"returnImmediately": true});
    params
}
