use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{Scope, store::Claim};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    failure::Result,
    read::{intern_scope, scope_no},
};

pub(super) fn claim(
    db: &Connection,
    scope: &Scope,
    key: &str,
    fingerprint: u64,
    task_id: &str,
) -> Result<Claim> {
    let scope = intern_scope(db, scope)?;
    let mut insert = db.prepare_cached(
        "INSERT INTO claims (scope, key, fingerprint, task_id, millis)
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
    )?;
    let now = Timestamp::now().as_millis();
    // SQLite integers are signed 64-bit; the bits are the same.
    let row = params![scope, key, fingerprint.cast_signed(), task_id, now];
    if insert.execute(row)? > 0 {
        return Ok(Claim::New);
    }
    let mut query =
        db.prepare_cached("SELECT task_id, fingerprint FROM claims WHERE scope = ?1 AND key = ?2")?;
    Ok(query.query_row(params![scope, key], |row| {
        let fingerprint: i64 = row.get(1)?;
        Ok(Claim::Known { task_id: row.get(0)?, fingerprint: fingerprint.cast_unsigned() })
    })?)
}

/// Binds a key to another task, unless the current one exists.
pub(super) fn take_over(
    db: &Connection,
    scope: &Scope,
    key: &str,
    fingerprint: u64,
    gone: &str,
    task_id: &str,
) -> Result<Claim> {
    if let Some(no) = scope_no(db, scope)? {
        let mut update = db.prepare_cached(
            "UPDATE claims SET task_id = ?4, fingerprint = ?5
             WHERE scope = ?1 AND key = ?2 AND task_id = ?3
             AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = ?3 AND scope = ?1)",
        )?;
        if update.execute(params![no, key, gone, task_id, fingerprint.cast_signed()])? > 0 {
            return Ok(Claim::New);
        }
    }
    claim(db, scope, key, fingerprint, task_id)
}

/// The task that a key is bound to.
pub(super) fn task_of(db: &Connection, scope: i64, key: &str) -> Result<Option<String>> {
    let mut query =
        db.prepare_cached("SELECT task_id FROM claims WHERE scope = ?1 AND key = ?2")?;
    Ok(query.query_row(params![scope, key], |row| row.get(0)).optional()?)
}

pub(super) fn release(db: &Connection, scope: &Scope, key: &str, task_id: &str) -> Result<()> {
    if let Some(scope) = scope_no(db, scope)? {
        let mut delete =
            db.prepare_cached("DELETE FROM claims WHERE scope = ?1 AND key = ?2 AND task_id = ?3")?;
        delete.execute(params![scope, key, task_id])?;
    }
    Ok(())
}
