use std::sync::Arc;

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::{
    Scope,
    store::{PageKey, TaskPage, TaskQuery},
};
use prost::Message as _;
use rusqlite::{Connection, OptionalExtension as _, ToSql};

use super::{
    failure::Result,
    read::{scope_no, task},
};

/// Maximum count without a counter.
const MAX_COUNTED: i64 = 10_000;

/// The numbers of all task states.
const STATES: [i32; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

pub(super) fn page(db: &Connection, scope: &Scope, query: &TaskQuery) -> Result<TaskPage> {
    let Some(selection) = Selection::new(db, scope, query)? else {
        return Ok(TaskPage::default());
    };
    let mut numbers = selection.numbers(db, query.after.as_ref(), query.limit)?;
    let mut has_more = numbers.len() > query.limit;
    numbers.truncate(query.limit);
    let mut tasks = Vec::new();
    let mut bytes = 0_usize;
    for no in numbers {
        // One at a time, so that excluded parts are freed before the next task is read.
        let task = query.view.apply(task(db, no)?.into());
        bytes = bytes.saturating_add(task.encoded_len());
        if query.max_bytes.is_some_and(|most| bytes > most) && !tasks.is_empty() {
            has_more = true;
            break;
        }
        tasks.push(Arc::new(task));
    }
    let total = match selection.since {
        Some(_) => selection.count(db)?,
        None => selection.total(db)?,
    };
    Ok(TaskPage::default().with_tasks(tasks).with_total(total).with_has_more(has_more))
}

/// The tasks that a query selects, and the index to read them from.
struct Selection {
    /// What the tasks have in common, `scope` or `context`, with its row number.
    within: (&'static str, i64),
    state: Option<i32>,
    since: Option<i64>,
}

impl Selection {
    fn new(db: &Connection, scope: &Scope, query: &TaskQuery) -> Result<Option<Self>> {
        let Some(scope) = scope_no(db, scope)? else { return Ok(None) };
        let within = match &query.context_id {
            None => ("scope", scope),
            Some(context_id) => {
                let mut find =
                    db.prepare_cached("SELECT no FROM contexts WHERE scope = ?1 AND id = ?2")?;
                let no = find.query_row((scope, context_id), |row| row.get(0)).optional()?;
                let Some(no) = no else { return Ok(None) };
                ("context", no)
            }
        };
        let since = query.since.map(Timestamp::as_millis);
        Ok(Some(Self { within, state: query.state.map(Into::into), since }))
    }

    /// The clause after `FROM tasks`, for a state.
    fn clause(&self, state: &str) -> String {
        let (within, _) = self.within;
        let since = if self.since.is_some() { " AND millis >= :since" } else { "" };
        format!(
            "INDEXED BY tasks_of_{within}_in_state
             WHERE {within} = :within AND state {state}{since}"
        )
    }

    fn parameters(&self) -> Vec<(&'static str, &dyn ToSql)> {
        let mut parameters: Vec<(_, &dyn ToSql)> = vec![(":within", &self.within.1)];
        parameters.extend(self.state.as_ref().map(|state| (":state", state as &dyn ToSql)));
        parameters.extend(self.since.as_ref().map(|since| (":since", since as &dyn ToSql)));
        parameters
    }

    /// Merges the entries of all states, which are in the order of the page.
    fn numbers_query(&self, has_after: bool) -> String {
        let after = if has_after { " AND (millis, id) < (:millis, :id)" } else { "" };
        let entries = |state: &str| {
            let clause = self.clause(state);
            format!("SELECT no, millis, id FROM tasks {clause}{after}")
        };
        let entries = match self.state {
            Some(_) => entries("= :state"),
            None => STATES.map(|state| entries(&format!("= {state}"))).join(" UNION ALL "),
        };
        format!("SELECT no FROM ({entries} ORDER BY millis DESC, id DESC LIMIT :limit)")
    }

    fn count_query(&self) -> String {
        let clause = self.clause(match self.state {
            Some(_) => "= :state",
            None => "IN (0, 1, 2, 3, 4, 5, 6, 7, 8)",
        });
        format!("SELECT count(*) FROM (SELECT 1 FROM tasks {clause} LIMIT :limit)")
    }

    /// Returns the row numbers of the tasks of a page, and of one more.
    fn numbers(&self, db: &Connection, after: Option<&PageKey>, limit: usize) -> Result<Vec<i64>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let mut parameters = self.parameters();
        parameters.push((":limit", &limit));
        if let Some(PageKey { millis, task_id, .. }) = after {
            parameters.extend([(":millis", millis as &dyn ToSql), (":id", task_id)]);
        }
        let mut query = db.prepare_cached(&self.numbers_query(after.is_some()))?;
        let numbers = query.query_map(&*parameters, |row| row.get(0))?;
        Ok(numbers.collect::<rusqlite::Result<_>>()?)
    }

    /// Counts tasks, up to the maximum.
    fn count(&self, db: &Connection) -> Result<usize> {
        let mut parameters = self.parameters();
        parameters.push((":limit", &MAX_COUNTED));
        let mut query = db.prepare_cached(&self.count_query())?;
        Ok(query.query_row(&*parameters, |row| row.get(0))?)
    }

    /// Looks up the total.
    fn total(&self, db: &Connection) -> Result<usize> {
        let (within, no) = self.within;
        let count = |state: i32| format!("in_state_{state}");
        let count = self.state.map_or_else(|| STATES.map(count).join(" + "), count);
        let mut query = db.prepare_cached(&format!(
            "SELECT ifnull(sum({count}), 0) FROM {within}s WHERE no = ?1"
        ))?;
        Ok(query.query_row([no], |row| row.get(0))?)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::{
        super::{connection::open_writer, migration::migrate},
        *,
    };

    /// Every page and every count is one index scan: nothing is sorted, and no more is read than
    /// returned.
    #[test]
    fn every_list_is_served_by_an_index() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a2a.db");
        let mut db = open_writer(&path).unwrap();
        migrate(&path, &mut db).unwrap();
        for within in [("scope", 1), ("context", 1)] {
            let mut selection = Selection { within, state: None, since: None };
            for state in [None, Some(1)] {
                for since in [None, Some(5)] {
                    (selection.state, selection.since) = (state, since);
                    let statements = [
                        selection.numbers_query(false),
                        selection.numbers_query(true),
                        selection.count_query(),
                    ];
                    for statement in statements {
                        let plan = plan(&db, &statement);
                        assert!(plan.contains("SEARCH tasks USING"), "{statement}: {plan}");
                        assert!(!plan.contains("SCAN tasks"), "{statement}: {plan}");
                        assert!(!plan.contains("TEMP B-TREE"), "{statement}: {plan}");
                    }
                    let after = PageKey::new(5, "t");
                    assert!(selection.numbers(&db, Some(&after), 10).unwrap().is_empty());
                    assert_eq!(
                        (selection.count(&db).unwrap(), selection.total(&db).unwrap()),
                        (0, 0)
                    );
                }
            }
        }
    }

    fn plan(db: &Connection, statement: &str) -> String {
        let mut query = db.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let steps = query.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.map(std::result::Result::unwrap).collect::<Vec<_>>().join("; ")
    }
}
