//! Row numbers of scopes.

use a2a_kit_operations::Scope;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::failure::Result;

/// Returns the row number of a scope.
pub(super) fn scope_no(db: &Connection, scope: &Scope) -> Result<Option<i64>> {
    let mut query = db.prepare_cached("SELECT no FROM scopes WHERE tenant = ?1 AND owner = ?2")?;
    Ok(query.query_row(params![&*scope.tenant, &*scope.owner], |row| row.get(0)).optional()?)
}

/// Returns the row number of a scope, inserting it if it is missing.
pub(super) fn intern_scope(db: &Connection, scope: &Scope) -> Result<i64> {
    if let Some(no) = scope_no(db, scope)? {
        return Ok(no);
    }
    let mut insert = db.prepare_cached("INSERT INTO scopes (tenant, owner) VALUES (?1, ?2)")?;
    Ok(insert.insert(params![&*scope.tenant, &*scope.owner])?)
}
