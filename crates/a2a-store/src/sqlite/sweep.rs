use std::time::Duration;

use a2a_core::well_known::Timestamp;
use rusqlite::{Connection, params};

use super::failure::Result;

/// The most tasks to forget in one transaction: other writes wait for it.
pub(super) const BATCH: usize = 32;

/// Forgets tasks that have ended, oldest end first, and returns how many.
pub(super) fn tasks(db: &Connection, age: Duration, limit: usize) -> Result<usize> {
    let mut delete = db.prepare_cached(
        "DELETE FROM tasks WHERE no IN (
             SELECT no FROM tasks INDEXED BY tasks_ended
             WHERE ended IS NOT NULL AND ended <= ?1 ORDER BY ended LIMIT ?2
         )",
    )?;
    Ok(delete.execute(params![before(age), limit.min(BATCH)])?)
}

/// Forgets idempotency keys, oldest first.
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

fn before(age: Duration) -> i64 {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::now().as_millis().saturating_sub(age)
}
