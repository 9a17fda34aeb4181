use std::{sync::Arc, time::Duration};

use a2a_core::well_known::Timestamp;
use rusqlite::{Connection, params};

use super::failure::Result;

/// Maximum number of tasks to remove in one transaction, because other writes wait for it.
pub(super) const BATCH: usize = 32;

/// Ended tasks, oldest end first.
pub(super) const ENDED: &str = "DELETE FROM tasks WHERE no IN (
         SELECT no FROM tasks INDEXED BY tasks_ended
         WHERE ended IS NOT NULL AND ended <= ?1 ORDER BY ended LIMIT ?2
     ) RETURNING id";

/// Unleased tasks that have waited for user input or authorization, longest waiting first.
pub(super) const PARKED: &str = "DELETE FROM tasks WHERE no IN (
         SELECT no FROM tasks INDEXED BY tasks_parked
         WHERE parked IS NOT NULL AND parked <= ?1
         AND NOT EXISTS (SELECT 1 FROM holds WHERE task = no)
         AND NOT EXISTS (SELECT 1 FROM commands WHERE task = no AND answer IS NULL)
         ORDER BY parked LIMIT ?2
     ) RETURNING id";

/// Removes tasks older than an age, up to a number, and returns their ids.
pub(super) fn tasks(
    db: &Connection,
    which: &str,
    age: Duration,
    limit: usize,
) -> Result<Vec<Arc<str>>> {
    let mut delete = db.prepare_cached(which)?;
    let ids = delete.query_map(params![before(age), limit.min(BATCH)], |row| row.get(0))?;
    ids.map(|id| Ok(id?)).collect()
}

/// Removes idempotency keys, oldest first.
pub(super) fn claims(db: &Connection, age: Duration, limit: usize) -> Result<()> {
    let mut delete = db.prepare_cached(
        "DELETE FROM claims WHERE no IN (
             SELECT no FROM claims INDEXED BY claims_by_age
             WHERE millis <= ?1 ORDER BY millis LIMIT ?2
         )",
    )?;
    delete.execute(params![before(age), limit])?;
    Ok(())
}

/// The size of the database, in bytes.
pub(super) fn size(db: &Connection) -> Result<u64> {
    let pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    Ok(db.query_row(pages, [], |row| row.get(0))?)
}

fn before(age: Duration) -> i64 {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::now().as_millis().saturating_sub(age)
}
