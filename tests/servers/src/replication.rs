//! PostgreSQL with a standby.

use std::{
    net::SocketAddr,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use tokio::{task::spawn_blocking, time::sleep};

use crate::{
    Skipped,
    postgres::{self, Started, connect},
    process::{as_nobody, folder, free_port},
    program,
};

/// Time for a standby to follow, and for transactions to end.
const LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
/// Nothing here has to survive a crash of the machine.
const SETTINGS: [&str; 1] = ["fsync=off"];

/// A primary and a synchronous standby: a commit that was acknowledged is on both.
#[derive(Debug)]
pub struct Replication {
    primary: Started,
    standby: Option<Started>,
    /// The primary before the last failover.
    former: Option<Started>,
}

impl Replication {
    /// Starts both, each with its own directory.
    ///
    /// # Errors
    ///
    /// [`Skipped`], after a line on standard error, where PostgreSQL is not installed and can't be.
    pub async fn start() -> Result<Self, Skipped> {
        let started = async {
            let primary = Started::new(&[], &SETTINGS).await?;
            let mut servers = Self { primary, standby: None, former: None };
            servers.add_standby().await?;
            Ok(servers)
        };
        let started: Result<Self, String> = started.await;
        started
            .map_err(|reason| Skipped::new("PostgreSQL with a standby", reason))
            .inspect_err(Skipped::say)
    }

    /// The address of the primary.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.primary.port))
    }

    /// The URL of an empty database at another address, for example that of a relay.
    pub fn url_at(&self, address: SocketAddr) -> String {
        format!("postgres://postgres@{address}/postgres")
    }

    /// Promotes the standby, whose address is then [`address`](Self::address).
    ///
    /// The sessions of the former primary stay open and become read-only first, as with managed
    /// databases; new ones there would be read-only, too.
    ///
    /// # Errors
    ///
    /// If there is no standby, or it does not become the primary in time.
    pub async fn fail_over(&mut self) -> Result<(), String> {
        let standby = self.standby.take().ok_or("there is no standby")?;
        let result = promote(&self.primary, &standby).await;
        self.former = Some(std::mem::replace(&mut self.primary, standby));
        result
    }

    /// Kills the primary before the last failover, if it runs: its sessions end.
    pub fn kill_former(&mut self) {
        if let Some(former) = self.former.take() {
            former.process.kill();
            let _ = std::fs::remove_dir_all(&former.folder);
        }
    }

    /// Adds a new standby after a failover.
    ///
    /// # Errors
    ///
    /// If it does not follow in time.
    pub async fn add_standby(&mut self) -> Result<(), String> {
        let port = self.primary.port;
        let folder =
            spawn_blocking(move || copy(port)).await.map_err(|error| error.to_string())??;
        let standby = Started::in_folder(folder, free_port(), &SETTINGS).await?;
        let client = connect(&self.primary.url).await.map_err(|error| error.to_string())?;
        let count = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        until(&client, count, 1).await?;
        // From now on a commit waits for the standby.
        let synchronous = "ALTER SYSTEM SET synchronous_standby_names = '*'";
        run(&client, &[synchronous, "SELECT pg_reload_conf()"]).await?;
        let count = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        until(&client, count, 1).await?;
        self.standby = Some(standby);
        Ok(())
    }
}

/// Makes the primary read-only, waits for its transactions, and promotes the standby.
async fn promote(primary: &Started, standby: &Started) -> Result<(), String> {
    let old = connect(&primary.url).await.map_err(|error| error.to_string())?;
    let read_only = "ALTER SYSTEM SET default_transaction_read_only = on";
    run(&old, &[read_only, "SELECT pg_reload_conf()"]).await?;
    let writing = "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL";
    until(&old, writing, 0).await?;
    let new = connect(&standby.url).await.map_err(|error| error.to_string())?;
    run(&new, &["SELECT pg_promote(true, 30)"]).await?;
    until(&new, "SELECT count(*) FROM (SELECT 1 WHERE pg_is_in_recovery()) AS x", 0).await
}

async fn run(client: &tokio_postgres::Client, statements: &[&str]) -> Result<(), String> {
    for statement in statements {
        let done = client.batch_execute(statement).await;
        done.map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(())
}

/// Repeats a query until it gives a number.
async fn until(client: &tokio_postgres::Client, query: &str, number: i64) -> Result<(), String> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let row =
            client.query_one(query, &[]).await.map_err(|error| format!("{query}: {error}"))?;
        let now: i64 = row.get(0);
        if now == number {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("{query} gives {now}, not {number}"));
        }
        sleep(POLL).await;
    }
}

/// Copies a running primary into a new directory, as a standby of it.
fn copy(port: u16) -> Result<std::path::PathBuf, String> {
    let program = program::find_or_install("pg_basebackup", "postgresql")?;
    let folder = folder("standby").map_err(|error| error.to_string())?;
    let data = postgres::path(&folder.join("data"));
    let port = port.to_string();
    let output = as_nobody(Command::new(program))
        .args(["-h", "127.0.0.1", "-U", "postgres", "-p", &port, "-D", &data])
        .args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"])
        .current_dir(&folder)
        .output()
        .map_err(|error| format!("pg_basebackup: {error}"))?;
    if output.status.success() {
        return Ok(folder);
    }
    let _ = std::fs::remove_dir_all(Path::new(&folder));
    Err(format!("pg_basebackup: {}", String::from_utf8_lossy(&output.stderr)))
}
