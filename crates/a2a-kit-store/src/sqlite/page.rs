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

/// The counters, in the order of the states.
const COUNTS: &str = "in_state_0, in_state_1, in_state_2, in_state_3, in_state_4, in_state_5, \
                      in_state_6, in_state_7, in_state_8";

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
        None => selection.total,
    };
    Ok(TaskPage::default().with_tasks(tasks).with_total(total).with_has_more(has_more))
}

/// The tasks that a query selects, and the index to read them from.
struct Selection {
    /// What the tasks have in common, `scope` or `context`, with its row number.
    within: (&'static str, i64),
    /// The selected states, without those that no task is in.
    states: Vec<i32>,
    /// The number of tasks in these states.
    total: usize,
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
        let mut selection = Self { within, states: Vec::new(), total: 0, since };
        let counts = format!("SELECT {COUNTS} FROM {}s WHERE no = ?1", within.0);
        let counts = db.prepare_cached(&counts)?.query_row([within.1], |row| {
            (0..row.as_ref().column_count()).map(|state| row.get(state)).collect()
        });
        let counts: Vec<usize> = counts?;
        let wanted: Option<i32> = query.state.map(Into::into);
        for (state, count) in (0..).zip(counts) {
            if count > 0 && wanted.is_none_or(|wanted| wanted == state) {
                selection.states.push(state);
                selection.total += count;
            }
        }
        Ok(Some(selection))
    }

    /// The clause after `FROM tasks`, for some states.
    fn clause(&self, states: &str) -> String {
        let (within, _) = self.within;
        let since = if self.since.is_some() { " AND millis >= :since" } else { "" };
        format!(
            "INDEXED BY tasks_of_{within}_in_state
             WHERE {within} = :within AND state IN ({states}){since}"
        )
    }

    fn parameters(&self) -> Vec<(&'static str, &dyn ToSql)> {
        let mut parameters: Vec<(_, &dyn ToSql)> = vec![(":within", &self.within.1)];
        parameters.extend(self.since.as_ref().map(|since| (":since", since as &dyn ToSql)));
        parameters
    }

    /// Merges the entries of all states, which are in the order of the page.
    fn numbers_query(&self, has_after: bool) -> String {
        let after = if has_after { " AND (millis, id) < (:millis, :id)" } else { "" };
        let entries = self.states.iter().map(|state| {
            let clause = self.clause(&state.to_string());
            format!("SELECT no, millis, id FROM tasks {clause}{after}")
        });
        let entries = entries.collect::<Vec<_>>().join(" UNION ALL ");
        format!("SELECT no FROM ({entries} ORDER BY millis DESC, id DESC LIMIT :limit)")
    }

    fn count_query(&self) -> String {
        let states: Vec<_> = self.states.iter().map(ToString::to_string).collect();
        let clause = self.clause(&states.join(", "));
        format!("SELECT count(*) FROM (SELECT 1 FROM tasks {clause} LIMIT :limit)")
    }

    /// Returns the row numbers of the tasks of a page, and of one more.
    fn numbers(&self, db: &Connection, after: Option<&PageKey>, limit: usize) -> Result<Vec<i64>> {
        if self.states.is_empty() {
            return Ok(Vec::new());
        }
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
            for states in [vec![1], vec![1, 3], (0..9).collect()] {
                for since in [None, Some(5)] {
                    let selection = Selection { within, states: states.clone(), total: 0, since };
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
                    assert_eq!(selection.count(&db).unwrap(), 0);
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
