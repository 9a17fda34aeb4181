//! The latency of another caller during an attack.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use serde_json::{Value, json};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    Environment,
    environment::{FAST, waiting},
    pipe,
};

/// The other caller connects from another address, so that limits per address distinguish the two.
const ADDRESS: [u8; 4] = [127, 0, 0, 2];
/// Pause between a response and the next request.
const PAUSE: Duration = Duration::from_millis(10);
/// Limit of a single request, with a margin for a busy machine.
const STALL: Duration = Duration::from_secs(2);
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The latency of the other caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latency {
    requests: usize,
    median: Duration,
    p99: Duration,
    worst: Duration,
}

impl Latency {
    fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let at = |percent: usize| {
            times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)))
        };
        Some(Self { requests: times.len(), median: *at(50)?, p99: *at(99)?, worst: *times.last()? })
    }

    /// Checks the median, so that pauses of a shared machine are tolerated, and the maximum.
    ///
    /// # Errors
    ///
    /// The latency, if it exceeds a limit.
    pub(super) fn check(self) -> Result<Self, String> {
        let is_served = self.median <= FAST && self.worst <= STALL;
        if is_served { Ok(self) } else { Err(format!("the other caller waits: {self}")) }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, median, p99, worst } = self;
        write!(f, "p50 {median:.0?}, p99 {p99:.0?}, worst {worst:.0?} of {requests}")
    }
}

/// Another caller that reads a small task in a loop until stopped.
#[derive(Debug)]
pub(super) struct Bystander {
    stop: oneshot::Sender<()>,
    probing: JoinHandle<Result<Vec<Duration>, String>>,
}

impl Bystander {
    /// Starts reading; `None` if the server has only one caller.
    ///
    /// # Errors
    ///
    /// The response, if the other caller cannot create a task.
    pub(super) async fn start(env: &Environment) -> Result<Option<Self>, String> {
        let Some(token) = &env.bob else { return Ok(None) };
        let (status, answer) = env.call(token, "SendMessage", waiting("echo hello")).await?;
        let id = answer["result"]["task"]["id"].as_str();
        let id =
            id.ok_or_else(|| format!("the other caller gets no task: HTTP {status} {answer}"))?;
        let caller = Caller {
            address: env.address,
            tls: env.tls.clone(),
            token: token.clone(),
            body: json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}}),
            connection: None,
        };
        let (stop, stopped) = oneshot::channel();
        Ok(Some(Self { stop, probing: tokio::spawn(probe(caller, stopped)) }))
    }

    /// Stops reading, and returns the latency.
    ///
    /// # Errors
    ///
    /// The first failed request.
    pub(super) async fn finish(self) -> Result<Latency, String> {
        let _stopped = self.stop.send(());
        let times = self.probing.await.map_err(|error| error.to_string())??;
        Latency::of(times).ok_or_else(|| "the other caller made no request".to_owned())
    }
}

/// Makes requests until stopped, at least one.
async fn probe(
    mut caller: Caller,
    mut stopped: oneshot::Receiver<()>,
) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        let answered = timeout(TIMEOUT, caller.request()).await;
        answered
            .map_err(|_late| format!("the other caller got no response in {TIMEOUT:?}"))?
            .map_err(|error| format!("the other caller was not served: {error}"))?;
        times.push(start.elapsed());
        tokio::select! {
            _ = &mut stopped => return Ok(times),
            () = sleep(PAUSE) => {}
        }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

struct Caller {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
    token: String,
    body: Value,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Caller {
    /// Makes a request, reconnecting if necessary.
    async fn request(&mut self) -> Result<(), BoxError> {
        let is_open = match &mut self.connection {
            Some(connection) => connection.ready().await.is_ok(),
            None => false,
        };
        if !is_open {
            self.connection = Some(self.connect().await?);
        }
        let connection = self.connection.as_mut().ok_or("no connection")?;
        let request = Request::post("/")
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .header("a2a-version", "1.0")
            .body(Full::new(Bytes::from(self.body.to_string())))?;
        let response = connection.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let answer: Value = serde_json::from_slice(&body)?;
        if answer.get("result").is_none() {
            return Err(format!("HTTP {status} {answer}").into());
        }
        Ok(())
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, BoxError> {
        let pipe = pipe::connect_from(ADDRESS, self.address, self.tls.as_ref()).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(pipe)).await?;
        // Ends with the connection, which ends when the sender is dropped.
        tokio::spawn(connection);
        Ok(sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_use_sorted_times() {
        let times = (1..=100).rev().map(Duration::from_millis).collect();
        let latency = Latency::of(times).expect("there are times");
        assert_eq!(latency.median, Duration::from_millis(51));
        assert_eq!(latency.p99, Duration::from_millis(100));
        assert_eq!(latency.worst, Duration::from_millis(100));
        assert!(latency.check().is_ok());
        assert!(Latency::of(Vec::new()).is_none());
    }

    #[test]
    fn slow_median_or_single_stall_fails() {
        for millis in [[1, 200, 300], [1, 2, 3_000]] {
            let times = millis.map(Duration::from_millis).to_vec();
            let latency = Latency::of(times).expect("there are times");
            assert!(latency.check().is_err(), "{latency}");
        }
    }
}
