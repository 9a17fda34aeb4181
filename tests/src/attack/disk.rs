//! The database of a server: access by others, and a full disk.
//!
//! Each attack starts another server from the attacked program.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use super::{Alone, Attack, Environment, Verdict, attacks, environment::waiting};

/// Timeout of responses.
const SOON: Duration = Duration::from_secs(5);

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "second server on a hard link", "another name of the open database" => hard_link;
        "second server without the lock file", "the open database after a2a.db.lock was removed" => no_lock_file;
        "files of the database", "reading them as another user" => modes;
        "disk full", "sends while files cannot grow, and afterwards" => no_room;
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A server with a store in a new directory, with one task.
struct Stored {
    server: Alone,
    folder: TempDir,
    binary: PathBuf,
}

impl Stored {
    async fn start(env: &Environment) -> Result<Self, String> {
        let process = env.process.as_ref().ok_or("the server is no process of ours")?;
        // The running program, even if it was rebuilt since.
        let binary = PathBuf::from(format!("/proc/{}/exe", process.id));
        let folder = TempDir::new().map_err(text)?;
        let server = Alone::start(&binary, folder.path(), &["--store", "a2a.db"])?;
        let stored = Self { server, folder, binary };
        match stored.send().await? {
            200 => Ok(stored),
            status => Err(format!("a send got HTTP {status}")),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Sends a message, and returns the status of the answer.
    async fn send(&self) -> Result<u16, String> {
        let params = waiting(&format!("echo {}", "x".repeat(1_000)));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let request = reqwest::Client::new()
            .post(&self.server.url)
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(body.to_string());
        let answered = timeout(SOON, request.send()).await.map_err(|_late| "a send hangs")?;
        Ok(answered.map_err(text)?.status().as_u16())
    }

    async fn ready(&self) -> Result<u16, String> {
        let url = format!("{}readyz", self.server.url);
        let answered = timeout(SOON, reqwest::get(url)).await.map_err(|_late| "/readyz hangs")?;
        Ok(answered.map_err(text)?.status().as_u16())
    }

    /// Waits until `/readyz` has a status: it probes once a second.
    async fn until_ready_is(&self, status: u16) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let now = self.ready().await?;
            if now == status {
                return Ok(());
            }
            if start.elapsed() > SOON {
                return Err(format!("/readyz stays {now}, expected {status}"));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Tries to start a second server on a database.
    fn second(&self, database: &Path) -> Verdict {
        match Alone::start(
            &self.binary,
            self.folder.path(),
            &["--store", &database.to_string_lossy()],
        ) {
            Ok(_second) => Err("a second server runs on the database".to_owned()),
            Err(output) if output.contains("in use") => Ok("rejected a second server".to_owned()),
            Err(output) => Err(format!("rejected a second server for another reason: {output}")),
        }
    }

    async fn still_works(&self) -> Result<(), String> {
        match self.send().await? {
            200 => Ok(()),
            status => Err(format!("then the first server responds with HTTP {status}")),
        }
    }
}

async fn hard_link(env: &Environment) -> Verdict {
    let stored = Stored::start(env).await?;
    fs::hard_link(stored.path("a2a.db"), stored.path("link.db")).map_err(text)?;
    let summary = stored.second(&stored.path("link.db"))?;
    stored.still_works().await?;
    Ok(summary)
}

async fn no_lock_file(env: &Environment) -> Verdict {
    let stored = Stored::start(env).await?;
    fs::remove_file(stored.path("a2a.db.lock")).map_err(text)?;
    let summary = stored.second(&stored.path("a2a.db"))?;
    stored.still_works().await?;
    Ok(summary)
}

async fn modes(env: &Environment) -> Verdict {
    let stored = Stored::start(env).await?;
    // The default mode of a new file.
    let usual = stored.path("usual");
    OpenOptions::new().write(true).create_new(true).mode(0o666).open(&usual).map_err(text)?;
    let mode = |path: &Path| {
        let data = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(data.permissions().mode() & 0o777)
    };
    for name in ["a2a.db", "a2a.db-wal", "a2a.db-shm", "a2a.db.lock"] {
        let is = mode(&stored.path(name))?;
        if is != 0o600 {
            return Err(format!("{name} has mode {is:o}"));
        }
    }
    Ok(format!("has mode 600 where other files have {:o}", mode(&usual)?))
}

async fn no_room(env: &Environment) -> Verdict {
    let stored = Stored::start(env).await?;
    let id = i32::try_from(stored.server.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
    let limit = |current| {
        let limit = Rlimit { current, maximum: None };
        prlimit(Some(id), Resource::Fsize, limit).map_err(text)
    };
    limit(Some(1))?;
    let mut slowest = Duration::ZERO;
    for _ in 0..3 {
        let start = Instant::now();
        let status = stored.send().await?;
        slowest = slowest.max(start.elapsed());
        if status != 503 {
            return Err(format!("a send with a full disk got HTTP {status}"));
        }
    }
    stored.until_ready_is(503).await?;
    limit(None)?;
    stored.until_ready_is(200).await?;
    stored.still_works().await?;
    Ok(format!("responded 503 within {slowest:.0?}, was not ready, and recovered afterwards"))
}
