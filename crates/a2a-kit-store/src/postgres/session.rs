//! What the statements of a writer have in common.

use std::{collections::HashMap, sync::Arc};

use tokio_postgres::{Row, Statement};

use super::link::LinkError;

/// The results, by position in the statement, from 1.
pub(super) type Written = HashMap<i64, Done>;

/// The result of a write.
pub(super) enum Done {
    /// Written, and whether a webhook has pending events.
    Written { has_pushes: bool },
    /// Not written: the idempotency key is bound to another task.
    Claimed { task_id: String },
}

/// The parameters that all statements of a writer share.
pub(super) struct Session {
    pub(super) insert: Statement,
    pub(super) commit: Statement,
    pub(super) node: Arc<str>,
    pub(super) lease_millis: i64,
    /// The notification channel, if enabled.
    pub(super) channel: Option<String>,
    /// The slot of totals that only this writer updates.
    pub(super) slot: i64,
}

/// Decodes the results.
pub(super) fn read(rows: &[Row]) -> Result<Written, LinkError> {
    let written = |row: &Row| {
        Ok((row.try_get("n")?, Done::Written { has_pushes: row.try_get("has_pushes")? }))
    };
    rows.iter().map(written).collect()
}
