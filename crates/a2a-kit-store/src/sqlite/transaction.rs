use std::{
    collections::{BTreeMap, HashMap},
    ptr,
    sync::Arc,
};

use a2a_kit_operations::Scope;
use rusqlite::{
    CachedStatement, Connection, OptionalExtension as _, Row, params, params_from_iter,
};

use super::{
    failure::Result,
    read::{intern_scope, scope_no},
};
use crate::codec::EncodedTask;

/// The number of task states.
const STATES: usize = 9;

/// A transaction of the write thread. What its writes have in common is looked up, or written, once:
/// scopes, and the counts of scopes and contexts.
pub(super) struct Transaction<'a> {
    db: &'a Connection,
    /// The statements of most writes.
    statements: Vec<(&'static str, CachedStatement<'a>)>,
    rows: &'a mut TaskRows,
    /// The row numbers of scopes.
    known: HashMap<Scope, i64>,
    /// What is to be added to the counts of scopes and contexts, by row number.
    scopes: BTreeMap<i64, Counts>,
    contexts: BTreeMap<i64, Counts>,
}

/// The rows of recently written tasks that have not ended, as of a version and an epoch.
pub(super) type TaskRows = HashMap<Arc<str>, TaskRow>;

/// Maximum number of rows in [`TaskRows`].
const MAX_ROWS: usize = 1024;

/// The row of a task.
pub(super) struct TaskRow {
    pub(super) no: i64,
    pub(super) scope: i64,
    pub(super) context: i64,
    pub(super) version: u64,
    pub(super) epoch: u64,
    pub(super) last_event: u64,
    pub(super) state: i32,
    pub(super) millis: i64,
    pub(super) is_parked: bool,
    /// Size of the snapshot, in bytes.
    pub(super) length: i64,
}

impl TaskRow {
    /// Whether indexed fields differ, including the time when the task was parked.
    pub(super) fn differs(&self, head: &EncodedTask) -> bool {
        (self.state, self.millis) != (head.state.into(), head.millis) || self.is_parked
    }
}

/// Changes to counts.
#[derive(Default)]
pub(super) struct Counts {
    bytes: i64,
    tasks: [i64; STATES],
}

impl Counts {
    pub(super) fn add_bytes(&mut self, bytes: i64) {
        self.bytes += bytes;
    }

    /// Counts a task in a state; −1 if it leaves it.
    pub(super) fn add_task(&mut self, state: i32, number: i64) {
        let tasks = usize::try_from(state).ok().and_then(|state| self.tasks.get_mut(state));
        tasks.into_iter().for_each(|tasks| *tasks += number);
    }

    /// Counts the change of a task's state.
    pub(super) fn move_task(&mut self, from: i32, to: i32) {
        self.add_task(from, -1);
        self.add_task(to, 1);
    }
}

const OF_SCOPE: &str = "UPDATE scopes SET bytes = bytes + ?2,
    in_state_0 = in_state_0 + ?3, in_state_1 = in_state_1 + ?4, in_state_2 = in_state_2 + ?5,
    in_state_3 = in_state_3 + ?6, in_state_4 = in_state_4 + ?7, in_state_5 = in_state_5 + ?8,
    in_state_6 = in_state_6 + ?9, in_state_7 = in_state_7 + ?10, in_state_8 = in_state_8 + ?11
    WHERE no = ?1";

/// The bytes, ?2, are counted for scopes only.
const OF_CONTEXT: &str = "UPDATE contexts SET
    in_state_0 = in_state_0 + ?3, in_state_1 = in_state_1 + ?4, in_state_2 = in_state_2 + ?5,
    in_state_3 = in_state_3 + ?6, in_state_4 = in_state_4 + ?7, in_state_5 = in_state_5 + ?8,
    in_state_6 = in_state_6 + ?9, in_state_7 = in_state_7 + ?10, in_state_8 = in_state_8 + ?11
    WHERE no = ?1";

impl<'a> Transaction<'a> {
    pub(super) fn new(db: &'a Connection, rows: &'a mut TaskRows) -> Self {
        let (scopes, contexts) = Default::default();
        Self { db, statements: Vec::new(), rows, known: HashMap::new(), scopes, contexts }
    }

    /// Prepares a statement, once for all writes.
    pub(super) fn prepare(&mut self, text: &'static str) -> Result<&mut CachedStatement<'a>> {
        let held = self.statements.iter().position(|(held, _)| ptr::eq(*held, text));
        let place = held.unwrap_or(self.statements.len());
        if held.is_none() {
            self.statements.push((text, self.db.prepare_cached(text)?));
        }
        Ok(&mut self.statements[place].1)
    }

    /// The connection, for statements that neither count tasks nor remove scopes and contexts.
    pub(super) fn db(&self) -> &'a Connection {
        self.db
    }

    /// The connection, for any statement.
    pub(super) fn written(&mut self) -> Result<&'a Connection> {
        self.known.clear();
        self.write_counts()?;
        Ok(self.db)
    }

    /// Writes the counts.
    pub(super) fn write_counts(&mut self) -> Result<()> {
        for (statement, counts) in [(OF_SCOPE, &mut self.scopes), (OF_CONTEXT, &mut self.contexts)]
        {
            while let Some((no, Counts { bytes, tasks })) = counts.pop_first() {
                let row = [no, bytes].into_iter().chain(tasks);
                self.db.prepare_cached(statement)?.execute(params_from_iter(row))?;
            }
        }
        Ok(())
    }

    /// Returns the row number of a scope, inserting it if it is missing.
    pub(super) fn intern_scope(&mut self, scope: &Scope) -> Result<i64> {
        if let Some(no) = self.known.get(scope) {
            return Ok(*no);
        }
        let no = intern_scope(self.db, scope)?;
        self.known.insert(scope.clone(), no);
        Ok(no)
    }

    /// Returns the row number of a scope.
    pub(super) fn scope(&mut self, scope: &Scope) -> Result<Option<i64>> {
        if let Some(no) = self.known.get(scope) {
            return Ok(Some(*no));
        }
        let no = scope_no(self.db, scope)?;
        self.known.extend(no.map(|no| (scope.clone(), no)));
        Ok(no)
    }

    /// The counts of a scope, by row number.
    pub(super) fn of_scope(&mut self, no: i64) -> &mut Counts {
        self.scopes.entry(no).or_default()
    }

    /// The counts of a context, by row number.
    pub(super) fn of_context(&mut self, no: i64) -> &mut Counts {
        self.contexts.entry(no).or_default()
    }

    /// Returns the row of a task in a scope, if it has this version and epoch. Whether it still has
    /// them is to be checked by the update.
    pub(super) fn task(
        &mut self,
        task_id: &str,
        scope: i64,
        version: u64,
        epoch: u64,
    ) -> Result<Option<TaskRow>> {
        if let Some(row) = self.rows.remove(task_id)
            && (row.scope, row.version, row.epoch) == (scope, version, epoch)
        {
            return Ok(Some(row));
        }
        let query = self.prepare(
            "SELECT no, context, last_event, state, millis, parked IS NOT NULL,
                 (SELECT length(body) FROM snapshots WHERE task = no)
             FROM tasks WHERE id = ?1 AND version = ?2 AND epoch = ?3 AND scope = ?4",
        )?;
        let read = |row: &Row<'_>| {
            Ok(TaskRow {
                no: row.get(0)?,
                scope,
                context: row.get(1)?,
                version,
                epoch,
                last_event: row.get(2)?,
                state: row.get(3)?,
                millis: row.get(4)?,
                is_parked: row.get(5)?,
                length: row.get(6)?,
            })
        };
        Ok(query.query_row(params![task_id, version, epoch, scope], read).optional()?)
    }

    /// Keeps the row of a task for its next transition.
    pub(super) fn keep(&mut self, task_id: &Arc<str>, row: TaskRow) {
        if self.rows.len() >= MAX_ROWS {
            self.rows.clear();
        }
        self.rows.insert(Arc::clone(task_id), row);
    }
}
