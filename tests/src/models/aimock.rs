//! `@copilotkit/aimock`, which answers as the model providers do, from fixtures.

use std::{path::Path, process::Command, time::Duration};

use a2a_kit_http::client::{ClientSettings, HttpClient};
use bytes::Bytes;
use http::header::AUTHORIZATION;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{Result, process::Process};

/// Interval between two looks at the metrics.
const POLL: Duration = Duration::from_millis(10);

/// The fixtures.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/aimock/fixtures.json");

/// The key that it accepts.
pub(super) const KEY: &str = "key-of-the-matrix";

/// A running mock.
#[derive(Debug)]
pub(super) struct Aimock {
    process: Process,
    http: HttpClient,
}

/// A request to a model.
#[derive(Debug)]
pub(super) struct ModelRequest {
    /// When it came, in milliseconds since 1970.
    pub(super) milliseconds: u64,
    /// Its messages in the form of OpenAI's chat API, whatever the provider.
    pub(super) messages: Vec<Value>,
}

impl Aimock {
    /// Starts the script `program` with Node.js.
    pub(super) fn start(program: &Path, log: &Path) -> Result<Self> {
        let mut command = Command::new("node");
        command.arg(program).args(["-p", "0", "-f", FIXTURES, "--validate-on-load", "--metrics"]);
        command.env("AIMOCK_API_KEYS", KEY);
        let process = Process::start(&mut command, "aimock server listening on ", log)?;
        Ok(Self { process, http: HttpClient::new(ClientSettings::default())? })
    }

    /// Its URL, below which the providers have their paths.
    pub(super) fn url(&self) -> &str {
        &self.process.url
    }

    async fn get(&self, path: &str) -> Result<String> {
        let request = http::Request::get(format!("{}{path}", self.url()))
            .header(AUTHORIZATION, format!("Bearer {KEY}"))
            .body(Bytes::new())?;
        let response = self.http.send(request).await?;
        let body = String::from_utf8_lossy(response.body()).into_owned();
        if response.status().is_success() { Ok(body) } else { Err(body.into()) }
    }

    /// The requests that reached a model so far, oldest first.
    pub(super) async fn requests(&self) -> Result<Vec<ModelRequest>> {
        let journal: Vec<Value> =
            serde_json::from_str(&self.get("/__aimock/journal?limit=1000").await?)?;
        let posted = journal.into_iter().filter(|entry| entry["method"] == "POST");
        let request = |entry: Value| ModelRequest {
            milliseconds: entry["timestamp"].as_u64().unwrap_or_default(),
            messages: entry["body"]["messages"].as_array().cloned().unwrap_or_default(),
        };
        Ok(posted.map(request).collect())
    }

    /// The number of requests with a status so far; `destroyed` are those whose connection was
    /// closed before their end.
    pub(super) async fn with_status(&self, status: &str) -> Result<u64> {
        let metrics = self.get("/metrics").await?;
        let label = format!("status=\"{status}\"");
        let lines = metrics.lines().filter(|line| line.starts_with("aimock_requests_total{"));
        let lines = lines.filter(|line| line.contains("method=\"POST\"") && line.contains(&label));
        lines.map(|line| Ok(line.rsplit(' ').next().unwrap_or_default().parse::<u64>()?)).sum()
    }

    /// Waits until the number of requests with a status is `count`.
    ///
    /// # Errors
    ///
    /// It differs after `within`.
    pub(super) async fn reaches(&self, status: &str, count: u64, within: Duration) -> Result {
        let end = Instant::now() + within;
        loop {
            let seen = self.with_status(status).await?;
            if seen == count {
                return Ok(());
            }
            if Instant::now() > end {
                let text = format!("{status}: expected {count} after {within:?}, got {seen}");
                return Err(text.into());
            }
            sleep(POLL).await;
        }
    }
}
