use std::{path::Path, time::Duration};

use refinery::embed_migrations;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

embed_migrations!("src/sqlite/migrations");

/// Identifies our databases in the file header: "A2As".
const APPLICATION_ID: i32 = 0x4132_4173;

/// Maximum number of prepared statements per connection.
const STATEMENTS: usize = 128;

/// How long writes wait for a lock of another program, for example of a backup. Beyond about 5 s,
/// the database counts as not writable.
const WRITER_WAIT: Duration = Duration::from_millis(5_500);
/// How long reads wait, for which there is hardly a reason.
const READER_WAIT: Duration = Duration::from_secs(10);

/// Why a file is not a store.
#[derive(Debug, thiserror::Error)]
pub(super) enum SchemaError {
    #[error("the database belongs to another program")]
    Foreign,
    #[error("the schema has version {found}")]
    Newer { found: i64, known: i64 },
    #[error("the database failed")]
    Sqlite(#[from] rusqlite::Error),
    #[error("a migration failed")]
    Migration(#[from] refinery::Error),
}

/// Opens the write connection.
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

/// Opens a read connection.
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

/// Checks that a file is ours.
pub(super) fn check_owner(db: &Connection) -> Result<(), SchemaError> {
    let id: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if id == APPLICATION_ID { Ok(()) } else { Err(SchemaError::Foreign) }
}

/// Migrates the schema, after checking that the file is ours and not newer.
pub(super) fn migrate(db: &mut Connection) -> Result<(), SchemaError> {
    let id: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let things: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (id, things) {
        (APPLICATION_ID, _) => {}
        (0, 0) => db.pragma_update(None, "application_id", APPLICATION_ID)?,
        _ => return Err(SchemaError::Foreign),
    }
    let runner = migrations::runner();
    let known = runner.get_migrations().iter().map(|migration| i64::from(migration.version()));
    let known = known.max().unwrap_or_default();
    if let Some(found) = version(db)?.filter(|found| *found > known) {
        return Err(SchemaError::Newer { found, known });
    }
    runner.run(db)?;
    Ok(())
}

fn version(db: &Connection) -> rusqlite::Result<Option<i64>> {
    let query = "SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'";
    if db.query_row(query, [], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    db.query_row("SELECT max(version) FROM refinery_schema_history", [], |row| row.get(0))
}

/// The row of a test write. No task has a negative number.
const PROBE: i64 = -1;

/// Room for what a write of a task changes besides its bodies.
const PROBE_OVERHEAD: usize = 64 << 10;

/// Makes a write of more than this size, to test that there is room for it.
pub(super) fn write_probe(db: &Connection, bytes: usize) -> super::failure::Result<()> {
    let bytes = i64::try_from(bytes.saturating_add(PROBE_OVERHEAD))?;
    let write = "INSERT OR REPLACE INTO journals (task, body) VALUES (?1, zeroblob(?2))";
    db.prepare_cached(write)?.execute([PROBE, bytes])?;
    Ok(())
}

/// Removes what the test write left.
pub(super) fn remove_probe(db: &Connection) -> super::failure::Result<()> {
    db.prepare_cached("DELETE FROM journals WHERE task = ?1")?.execute([PROBE])?;
    Ok(())
}
