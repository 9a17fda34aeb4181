use std::collections::{BTreeMap, HashMap};

use a2a_kit_operations::Scope;
use rusqlite::{Connection, params_from_iter};

use super::{
    failure::Result,
    read::{intern_scope, scope_no},
};

/// The number of task states.
const STATES: usize = 9;

/// A transaction of the write thread. What its writes have in common is looked up, or written, once:
/// scopes, and the counts of scopes and contexts.
pub(super) struct Transaction<'a> {
    db: &'a Connection,
    /// The row numbers of scopes.
    known: HashMap<Scope, i64>,
    /// What is to be added to the counts of scopes and contexts, by row number.
    scopes: BTreeMap<i64, Counts>,
    contexts: BTreeMap<i64, Counts>,
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
    pub(super) fn new(db: &'a Connection) -> Self {
        let (scopes, contexts) = Default::default();
        Self { db, known: HashMap::new(), scopes, contexts }
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
}
