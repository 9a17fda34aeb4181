//! What the statements of a writer get and return.

use std::{collections::HashMap, sync::Arc};

use tokio_postgres::Statement;

/// A write of a task, with a row of its statement.
pub(super) struct Write<R> {
    pub(super) task_id: Arc<str>,
    pub(super) owner: Arc<str>,
    /// The approximate size of the row in the statement, in bytes.
    pub(super) weight: usize,
    /// The bytes that it adds to the store, ignoring what it replaces.
    pub(super) added_bytes: usize,
    pub(super) row: R,
}

impl<R> Write<R> {
    pub(super) fn map<S>(self, to: impl FnOnce(R) -> S) -> Write<S> {
        let Self { task_id, owner, weight, added_bytes, row } = self;
        Write { task_id, owner, weight, added_bytes, row: to(row) }
    }
}

/// The results, by position in the statement, from 1.
pub(super) type Written = HashMap<i64, Done>;

/// The result of a write.
pub(super) enum Done {
    Written {
        /// Whether a webhook has pending events.
        has_pushes: bool,
        /// The change to the number of open tasks of the owner.
        opened: i32,
    },
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
