//! NATS.

use std::{
    env, fmt,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    sync::OnceCell,
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};
use url::Url;

use crate::{
    Skipped,
    process::{Process, add_files, folder, free_port},
    program,
};

const NAME: &str = "NATS";
const START: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(3);

/// A NATS server with JetStream.
#[derive(Debug)]
pub struct Nats {
    url: String,
    version: String,
    whence: String,
    _process: Option<Process>,
}

/// The NATS server of this process; an empty `NATS_URL` means none.
///
/// # Errors
///
/// [`Skipped`], after a line on standard error: the test is to return.
///
/// # Panics
///
/// If the server that `NATS_URL` names does not answer, or has no JetStream.
pub async fn nats() -> Result<&'static Nats, Skipped> {
    static SHARED: OnceCell<Result<Nats, Skipped>> = OnceCell::const_new();
    let found = SHARED.get_or_init(Nats::find).await;
    found.as_ref().map_err(Clone::clone).inspect_err(Skipped::say)
}

impl Nats {
    async fn find() -> Result<Self, Skipped> {
        match env::var("NATS_URL") {
            Ok(url) if url.is_empty() => return Err(Skipped::new(NAME, "NATS_URL is empty")),
            Ok(url) => {
                let found = Self::at(url, "NATS_URL".to_owned()).await;
                return Ok(found.unwrap_or_else(|error| panic!("NATS_URL: {error}")));
            }
            Err(_) => {}
        }
        let local = "nats://127.0.0.1:4222".to_owned();
        if let Ok(found) = Self::at(local, "port 4222".to_owned()).await {
            return Ok(found);
        }
        let started = Started::new(&[], &[]).await.map_err(|reason| Skipped::new(NAME, reason))?;
        let Started { process, port, url, .. } = started;
        let found = Self::at(url, format!("started on port {port}")).await;
        let found = found.map_err(|error| Skipped::new(NAME, error))?;
        Ok(Self { _process: Some(process), ..found })
    }

    async fn at(url: String, whence: String) -> Result<Self, String> {
        let greeting = greeting(&url).await?;
        if greeting["jetstream"] != true {
            return Err(format!("the server at {whence} has no JetStream"));
        }
        let version = greeting["version"].as_str().unwrap_or_default().to_owned();
        Ok(Self { url, version, whence, _process: None })
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A unique name on the server, which tests share.
    pub fn unique(&self) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        format!("test_{time}_{}_{number}", process::id())
    }
}

/// What runs: `NATS 2.9.10 (started on port 20124)`.
impl fmt::Display for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} {} ({})", self.version, self.whence)
    }
}

/// The greeting of a server, if it accepts connections.
async fn greeting(url: &str) -> Result<Value, String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let host = url.host_str().unwrap_or("127.0.0.1").to_owned();
    let talk = async {
        let mut socket = TcpStream::connect((host, url.port().unwrap_or(4222))).await?;
        let (read, mut write) = socket.split();
        let mut lines = BufReader::new(read).lines();
        let first = lines.next_line().await?.unwrap_or_default();
        let greeting: Value = serde_json::from_str(first.trim_start_matches("INFO "))?;
        if greeting["tls_required"] == true {
            return Ok(greeting);
        }
        let login = serde_json::json!({
            "verbose": false, "pedantic": false, "lang": "rust", "version": "1",
            "user": url.username(), "pass": url.password(),
        });
        write.write_all(format!("CONNECT {login}\r\nPING\r\n").as_bytes()).await?;
        while let Some(line) = lines.next_line().await? {
            match line.as_str() {
                "PONG" => return Ok(greeting),
                refusal if refusal.starts_with("-ERR") => return Err(refusal.into()),
                _ => {}
            }
        }
        Err::<_, Box<dyn std::error::Error + Send + Sync>>("the connection was closed".into())
    };
    match timeout(ANSWER, talk).await {
        Ok(talk) => talk.map_err(|error| error.to_string()),
        Err(_) => Err("it does not answer".to_owned()),
    }
}

/// A server that was started here.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) process: Process,
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    pub(crate) url: String,
}

impl Started {
    /// Makes a new server with these files, and more arguments.
    pub(crate) async fn new(files: &[(&str, &str)], arguments: &[&str]) -> Result<Self, String> {
        let folder = folder("nats").map_err(|error| error.to_string())?;
        add_files(&folder, files).map_err(|error| error.to_string())?;
        Self::in_folder(folder, free_port(), arguments).await
    }

    /// Starts the server whose files are in a folder.
    pub(crate) async fn in_folder(
        folder: PathBuf,
        port: u16,
        arguments: &[&str],
    ) -> Result<Self, String> {
        let program =
            spawn_blocking(|| program::find_or_install("nats-server", "nats-server")).await;
        let program = program.map_err(|error| error.to_string())??;
        let data = folder.join("data");
        let (program, data) = (program.to_string_lossy(), data.to_string_lossy());
        let port_text = port.to_string();
        let own = [&*program, "-a", "127.0.0.1", "-p", &port_text, "-js", "-sd", &data];
        let command: Vec<String> =
            own.iter().chain(arguments).map(|&argument| argument.to_owned()).collect();
        let process = Process::start(&folder, "KILL", &command);
        let process = process.map_err(|error| error.to_string())?;
        let url = format!("nats://127.0.0.1:{port}");
        let deadline = Instant::now() + START;
        loop {
            // One that asks for a password runs, too.
            match greeting(&url).await {
                Ok(_) => return Ok(Self { process, folder, port, url }),
                Err(error) if error.starts_with("-ERR") => {
                    return Ok(Self { process, folder, port, url });
                }
                Err(error) if process.has_ended() || Instant::now() > deadline => {
                    let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                    return Err(format!("it does not start: {error}\n{log}"));
                }
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
    }
}
