//! `a2a serve` with its defaults, relative to a durable floor and to tasks in memory.

use std::{
    ffi::OsString,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    load::{Length, Load, Outcome},
    report::{Results, Sample},
    request::{Ask, Binding},
    server::{DURABLE, Program, STARTED, STARTED_IN_MEMORY, Server},
    throughput,
};

/// A message that the demo agent echoes.
pub(crate) static ASK: Ask = Ask::Demo("hello");

/// The case, that of its syncs, and the requests in flight.
const CASES: [(&str, &str, usize); 3] =
    [("started.1", "sync.1", 1), ("started.16", "sync.16", 16), ("started.64", "sync.64", 64)];

/// `a2a serve` with its defaults: an SQLite file, the log in a file, and metrics.
pub(crate) struct Started {
    /// With the demo agent, as anybody starts it.
    pub(crate) sends: Server,
    /// With an agent that streams at once.
    pub(crate) streams: Server,
}

impl Started {
    /// Starts both, with new files.
    pub(crate) fn start(binary: &Path, folder: &Path, round: usize) -> Self {
        let start = |kind: &str, profile: &[&str]| {
            program(STARTED, binary, profile, &file(folder, kind, round)).start()
        };
        let sends = start("sends", &[]);
        Self { sends, streams: start("streams", &["--profile", "bench-defaults"]) }
    }
}

/// Measures all servers in turn.
pub(crate) fn measure(
    binary: &Path,
    folder: &Path,
    round: usize,
    results: &mut Results,
) -> Result<()> {
    let floor = file(folder, "floor", round);
    let ours = file(folder, "started", round);
    let memory = file(folder, "memory", round);
    let servers = [
        (Program::durable_floor(&floor).start(), Some(&floor)),
        (program(STARTED, binary, &[], &ours).start(), Some(&ours)),
        (program(STARTED_IN_MEMORY, binary, &["--store", "memory"], &memory).start(), None),
    ];
    for (case, sync, in_flight) in CASES {
        if !results.wants(case) && !results.wants(sync) {
            continue;
        }
        for (server, database) in &servers {
            let asks = [if server.name == DURABLE { Ask::Send("hello") } else { ASK.clone() }];
            let (binding, length) = (Binding::JsonRpc, Length::USUAL);
            let load = Load { server, binding, asks: &asks, in_flight, rate: None, length };
            let commits = || database.map(|database| commits(database)).transpose();
            let before = commits()?;
            let mut responses = 0_u32;
            let outcome = load.run_with(|_| responses += 1)?;
            results.add(case, &server.name, round, sample(&outcome));
            if let Some((before, after)) = before.zip(commits()?) {
                let each = f64::from(responses) / f64::from(after.wrapping_sub(before).max(1));
                results.figure(sync, &server.name, round, each);
            }
        }
    }
    Ok(())
}

/// A server with defaults, but for these arguments.
fn program(name: &str, binary: &Path, arguments: &[&str], database: &Path) -> Program {
    let mut all: Vec<_> = arguments.iter().map(OsString::from).collect();
    if !arguments.contains(&"--store") {
        all.extend(["--store".into(), database.into()]);
    }
    Program::a2a(name, binary, &all).logging_to(database.with_extension("log"))
}

fn file(folder: &Path, kind: &str, round: usize) -> PathBuf {
    folder.join(format!("{kind}-{round}.db"))
}

/// The server also waits for the disk, so a core that is not busy voids nothing.
pub(crate) fn sample(outcome: &Outcome) -> Sample {
    Sample { utilization: None, ..throughput::sample(outcome) }
}

/// The transactions of a database since its log was created: a counter in the index of the log, which
/// is shared memory. Each is one sync of the disk, besides those of checkpoints.
fn commits(database: &Path) -> Result<u32> {
    let mut path = OsString::from(database);
    path.push("-shm");
    let mut head = [0; 12];
    let read = File::open(&path).and_then(|mut file| file.read_exact(&mut head));
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    let [.., a, b, c, d] = head;
    Ok(u32::from_ne_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn transactions_of_a_database_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "count", 1);
        let db = Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        let before = commits(&path).unwrap();
        for _ in 0..3 {
            db.execute_batch("BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT")
                .unwrap();
        }
        assert_eq!(commits(&path).unwrap() - before, 3);
    }
}
