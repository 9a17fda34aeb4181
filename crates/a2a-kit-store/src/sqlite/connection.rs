use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags};

/// Maximum number of prepared statements per connection.
const STATEMENTS: usize = 128;

/// How long writes wait for a lock of another program, for example of a backup. Beyond about 5 s,
/// the database counts as not writable.
const WRITER_WAIT: Duration = Duration::from_millis(5_500);
/// How long reads wait, for which there is hardly a reason.
const READER_WAIT: Duration = Duration::from_secs(10);

pub(super) fn open_writer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    prepare(&db, WRITER_WAIT)?;
    // FULL, because with NORMAL a power failure could revert visible writes.
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    Ok(db)
}

pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    prepare(&db, READER_WAIT)?;
    Ok(db)
}

fn prepare(db: &Connection, wait: Duration) -> rusqlite::Result<()> {
    db.busy_timeout(wait)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;")
}

/// The row of a test write. No task has a negative number.
const PROBE: i64 = -1;

/// Room for what a write of a task changes besides its bodies.
const PROBE_OVERHEAD: usize = 64 << 10;

/// Makes a write of more than this size, to test that there is room for it.
pub(super) fn write_probe(db: &Connection, bytes: usize) -> super::failure::Result<()> {
    let bytes = i64::try_from(bytes.saturating_add(PROBE_OVERHEAD))?;
    let write =
        "INSERT OR REPLACE INTO journal_parts (task, version, body) VALUES (?1, 0, zeroblob(?2))";
    db.prepare_cached(write)?.execute([PROBE, bytes])?;
    Ok(())
}

/// Removes what the test write left.
pub(super) fn remove_probe(db: &Connection) -> super::failure::Result<()> {
    db.prepare_cached("DELETE FROM journal_parts WHERE task = ?1")?.execute([PROBE])?;
    Ok(())
}
