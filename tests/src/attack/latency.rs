//! How long another caller waits for answers while an attack runs.

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
    Scene, pipe,
    scene::{FAST, waiting},
};

/// The other caller connects from an address of its own, so that bounds per address tell the two
/// apart.
const ADDRESS: [u8; 4] = [127, 0, 0, 2];
/// The pause between an answer and the next request.
const PAUSE: Duration = Duration::from_millis(10);
/// Nobody waits for so long on a server that works, however busy the machine is.
const STALL: Duration = Duration::from_secs(2);
/// No answer for so long is a failure.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What the other caller saw.
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

    /// Whether the other caller was served as usual: by the median, so that a pause of a shared
    /// machine is no harm, and never stalled.
    ///
    /// # Errors
    ///
    /// How long the other caller waited.
    pub(super) fn check(self) -> Result<Self, String> {
        let is_served = self.median <= FAST && self.worst <= STALL;
        if is_served { Ok(self) } else { Err(format!("another caller waits: {self}")) }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, median, p99, worst } = self;
        write!(f, "p50 {median:.0?}, p99 {p99:.0?}, worst {worst:.0?} of {requests}")
    }
}

/// Another caller, who reads a small task again and again until told to stop.
#[derive(Debug)]
pub(super) struct Bystander {
    stop: oneshot::Sender<()>,
    probing: JoinHandle<Result<Vec<Duration>, String>>,
}

impl Bystander {
    /// Starts reading; `None` where the server does not tell callers apart.
    ///
    /// # Errors
    ///
    /// What the server says if the other caller can't have a task.
    pub(super) async fn start(scene: &Scene) -> Result<Option<Self>, String> {
        let Some(token) = &scene.bob else { return Ok(None) };
        let (status, answer) = scene.call(token, "SendMessage", waiting("echo hello")).await?;
        let id = answer["result"]["task"]["id"].as_str();
        let id =
            id.ok_or_else(|| format!("another caller gets no task: HTTP {status} {answer}"))?;
        let caller = Caller {
            address: scene.address,
            tls: scene.tls.clone(),
            token: token.clone(),
            body: json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}}),
            connection: None,
        };
        let (stop, stopped) = oneshot::channel();
        Ok(Some(Self { stop, probing: tokio::spawn(probe(caller, stopped)) }))
    }

    /// Stops reading, and returns how long answers took.
    ///
    /// # Errors
    ///
    /// What happened to the other caller's request that failed.
    pub(super) async fn finish(self) -> Result<Latency, String> {
        let _stopped = self.stop.send(());
        let times = self.probing.await.map_err(|error| error.to_string())??;
        Latency::of(times).ok_or_else(|| "another caller made no request".to_owned())
    }
}

/// Requests until told to stop, and once at least.
async fn probe(
    mut caller: Caller,
    mut stopped: oneshot::Receiver<()>,
) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        let answered = timeout(TIMEOUT, caller.request()).await;
        answered
            .map_err(|_late| format!("another caller had no answer in {TIMEOUT:?}"))?
            .map_err(|error| format!("another caller was not served: {error}"))?;
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
    /// Makes a request, on a new connection where the one before is gone.
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
    fn percentiles_are_taken_of_the_sorted_times() {
        let times = (1..=100).rev().map(Duration::from_millis).collect();
        let latency = Latency::of(times).expect("there are times");
        assert_eq!(latency.median, Duration::from_millis(51));
        assert_eq!(latency.p99, Duration::from_millis(100));
        assert_eq!(latency.worst, Duration::from_millis(100));
        assert!(latency.check().is_ok());
        assert!(Latency::of(Vec::new()).is_none());
    }

    #[test]
    fn a_slow_median_or_one_stall_is_harm() {
        for millis in [[1, 200, 300], [1, 2, 3_000]] {
            let times = millis.map(Duration::from_millis).to_vec();
            let latency = Latency::of(times).expect("there are times");
            assert!(latency.check().is_err(), "{latency}");
        }
    }
}
