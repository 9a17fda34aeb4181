//! PostgreSQL.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{
    sync::OnceCell,
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};
use tokio_postgres::{Client, NoTls};
use url::Url;

use crate::{
    Skipped,
    process::{Process, add_files, as_nobody, folder, free_port},
    program,
};

const NAME: &str = "PostgreSQL";
const START: Duration = Duration::from_secs(30);
/// The prefix of database names, followed by the time in seconds and the process id.
const PREFIX: &str = "a2a_test_";
const FORGOTTEN_SECONDS: u64 = 6 * 3600;

/// A PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    url: String,
    version: String,
    whence: String,
    _process: Option<Process>,
}

/// The PostgreSQL server of this process; an empty `DATABASE_URL` means none.
///
/// # Errors
///
/// [`Skipped`], after a line on standard error: the test should return.
///
/// # Panics
///
/// If the server in `DATABASE_URL` does not respond.
pub async fn postgres() -> Result<&'static Postgres, Skipped> {
    static SHARED: OnceCell<Result<Postgres, Skipped>> = OnceCell::const_new();
    let found = SHARED.get_or_init(Postgres::find).await;
    found.as_ref().map_err(Clone::clone).inspect_err(Skipped::say)
}

impl Postgres {
    async fn find() -> Result<Self, Skipped> {
        match env::var("DATABASE_URL") {
            Ok(url) if url.is_empty() => {
                return Err(Skipped::new(NAME, "DATABASE_URL is empty"));
            }
            Ok(url) => {
                let found = Self::at(url, "DATABASE_URL".to_owned()).await;
                return Ok(found.unwrap_or_else(|error| panic!("DATABASE_URL: {error}")));
            }
            Err(_) => {}
        }
        let user = env::var("USER").unwrap_or_else(|_| "postgres".to_owned());
        for login in ["postgres", "postgres:postgres", &user] {
            let url = format!("postgres://{login}@127.0.0.1:5432/postgres");
            if let Ok(found) = Self::at(url, "port 5432".to_owned()).await {
                found.forget_old().await;
                return Ok(found);
            }
        }
        let started = Started::new(&[], &[]).await.map_err(|reason| Skipped::new(NAME, reason))?;
        let Started { process, port, url, .. } = started;
        let found = Self::at(url, format!("started on port {port}")).await;
        let found = found.map_err(|error| Skipped::new(NAME, error.to_string()))?;
        Ok(Self { _process: Some(process), ..found })
    }

    /// The server at an address, if it permits creating databases.
    async fn at(url: String, whence: String) -> Result<Self, tokio_postgres::Error> {
        let client = connect(&url).await?;
        let row = client.query_one("SELECT current_setting('server_version')", &[]).await?;
        let version: String = row.get(0);
        let version = version.split(' ').next().unwrap_or_default().to_owned();
        let server = Self { url, version, whence, _process: None };
        let probe = server.create(&client).await?;
        client.batch_execute(&format!("DROP DATABASE {probe}")).await?;
        Ok(server)
    }

    /// The address of the server, with a database that is not for tests.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of a new, empty database.
    pub async fn database(&self) -> String {
        let client = connect(&self.url).await.expect("the server answered before");
        let name = self.create(&client).await.expect("the server made a database before");
        self.url_of(&name)
    }

    async fn create(&self, client: &Client) -> Result<String, tokio_postgres::Error> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}_{}_{number}", seconds(), process::id());
        // `template0` has no connections, which would prevent copying it.
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0")).await?;
        Ok(name)
    }

    fn url_of(&self, database: &str) -> String {
        match Url::parse(&self.url) {
            Ok(mut url) => {
                url.set_path(database);
                url.into()
            }
            // The other form is a list of settings; the last one of each kind applies.
            Err(_) => format!("{} dbname={database}", self.url),
        }
    }

    /// Drops databases of tests that ended long ago, since this server is persistent.
    async fn forget_old(&self) {
        let Ok(client) = connect(&self.url).await else { return };
        let old = "SELECT datname FROM pg_database WHERE starts_with(datname, $1)";
        for row in client.query(old, &[&PREFIX]).await.unwrap_or_default() {
            let name: String = row.get(0);
            let time = name.trim_start_matches(PREFIX).split('_').next();
            let time: Option<u64> = time.and_then(|time| time.parse().ok());
            if time.is_some_and(|time| time + FORGOTTEN_SECONDS < seconds()) {
                let _ = client.batch_execute(&format!("DROP DATABASE {name}")).await;
            }
        }
    }
}

/// A description: `PostgreSQL 15.18 (started on port 20123)`.
impl fmt::Display for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} {} ({})", self.version, self.whence)
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

pub(crate) async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // Ends when the client is dropped.
    tokio::spawn(connection);
    Ok(client)
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
    /// Creates a new server with these files, and additional settings of the form `name=value`.
    pub(crate) async fn new(files: &[(&str, &str)], settings: &[&str]) -> Result<Self, String> {
        let folder = spawn_blocking(new_cluster).await.map_err(|error| error.to_string())??;
        add_files(&folder, files).map_err(|error| error.to_string())?;
        Self::in_folder(folder, free_port(), settings).await
    }

    /// Starts the server whose files are in a folder.
    pub(crate) async fn in_folder(
        folder: PathBuf,
        port: u16,
        settings: &[&str],
    ) -> Result<Self, String> {
        let program = program::find_or_install("postgres", "postgresql")?;
        let port_setting = format!("port={port}");
        let mut command = vec![path(&program), "-D".to_owned(), path(&folder.join("data"))];
        let own = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=300",
            "timezone=UTC",
            &port_setting,
        ];
        for setting in own.iter().chain(settings) {
            command.extend(["-c".to_owned(), (*setting).to_owned()]);
        }
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let deadline = Instant::now() + START;
        let mut process = start(&folder, &command)?;
        loop {
            // A killed server leaves children, and shared memory until they exit: the next one then
            // fails immediately, and is retried.
            if process.has_ended() {
                sleep(Duration::from_millis(50)).await;
                process.kill();
                process = start(&folder, &command)?;
            }
            let last = match timeout(Duration::from_secs(5), connect(&url)).await {
                Ok(Ok(_)) => return Ok(Self { process, folder, port, url }),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it does not answer".to_owned(),
            };
            if Instant::now() > deadline {
                let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                return Err(format!("it does not start: {last}\n{log}"));
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

fn start(folder: &Path, command: &[String]) -> Result<Process, String> {
    Process::start(folder, "QUIT", command).map_err(|error| error.to_string())
}

fn new_cluster() -> Result<PathBuf, String> {
    let program = program::find_or_install("initdb", "postgresql")?;
    let folder = folder("postgres").map_err(|error| error.to_string())?;
    let output = as_nobody(Command::new(program))
        .arg("-D")
        .arg(folder.join("data"))
        .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
        .current_dir(&folder)
        .output()
        .map_err(|error| format!("initdb: {error}"))?;
    if output.status.success() {
        return Ok(folder);
    }
    Err(format!("initdb: {}", String::from_utf8_lossy(&output.stderr)))
}

pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
