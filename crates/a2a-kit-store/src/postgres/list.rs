//! Pages of tasks. Each is a range of one of four indexes, read backwards.

use std::fmt::Write as _;

use a2a_core::{v1::TaskState, well_known::Timestamp};
use a2a_kit_operations::{
    Scope,
    store::{TaskPage, TaskQuery},
};
use tokio_postgres::types::{ToSql, Type};

use super::{
    PostgresStore,
    row::{StoredRow, get, is_possible_scope, key, state_number, stored},
};
use crate::Result;

/// Maximum count with a time filter.
const MAX_COUNT: i64 = 10_000;

type Param = Box<dyn ToSql + Sync + Send>;

/// A statement and its parameters.
pub(super) struct ListQuery {
    pub(super) sql: String,
    params: Vec<(Param, Type)>,
}

impl ListQuery {
    pub(super) fn new(scope: &Scope, query: &TaskQuery) -> Self {
        let mut list = Self { sql: String::new(), params: Vec::new() };
        let tenant = list.param(scope.tenant.to_string(), Type::TEXT);
        let owner = list.param(scope.owner.to_string(), Type::TEXT);
        let mut filter = format!("tenant = {tenant} AND owner = {owner}");
        let context = query.context_id.as_deref();
        let context = context.map(|id| list.param(key(id).into_owned(), Type::TEXT));
        if let Some(context) = &context {
            let _ = write!(filter, " AND context_id = {context}");
        }
        if let Some(state) = query.state {
            let state = list.param(state_number(state), Type::INT2);
            let _ = write!(filter, " AND state = {state}");
        }
        if let Some(since) = query.since.map(Timestamp::as_millis) {
            let since = list.param(since, Type::INT8);
            let _ = write!(filter, " AND millis >= {since}");
        }
        let total = if query.since.is_some() {
            format!("SELECT count(*) FROM (SELECT FROM tasks WHERE {filter} LIMIT {MAX_COUNT}) c")
        } else {
            let (whole, context) = match &context {
                Some(context) => ("false", context.as_str()),
                None => ("true", "''"),
            };
            format!(
                "SELECT coalesce(sum({}), 0)::int8 FROM totals WHERE tenant = {tenant} \
                 AND owner = {owner} AND whole = {whole} AND context_id = {context}",
                column(query.state)
            )
        };
        if let Some(after) = &query.after {
            let millis = list.param(after.millis, Type::INT8);
            let id = list.param(after.task_id.replace('\0', "\u{1}"), Type::TEXT);
            let _ = write!(filter, " AND (millis, id) < ({millis}, {id})");
        }
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX - 1).saturating_add(1);
        let limit = list.param(limit, Type::INT8);
        let page = format!(
            "SELECT * FROM tasks WHERE {filter} ORDER BY millis DESC, id DESC LIMIT {limit}"
        );
        let (sizes, within) = match query.max_bytes {
            None => ("0::int8 AS found", String::new()),
            Some(most) => {
                let most = list.param(i64::try_from(most).unwrap_or(i64::MAX), Type::INT8);
                // The length is known without reading the body.
                let sizes = "sum(octet_length(b.snapshot)) OVER \
                             (ORDER BY t.millis DESC, t.id DESC)::int8 AS upto, \
                             row_number() OVER (ORDER BY t.millis DESC, t.id DESC) AS nth, \
                             count(*) OVER () AS found";
                (sizes, format!(" WHERE t.upto <= {most} OR t.nth = 1"))
            }
        };
        list.sql = format!(
            "SELECT x.total, p.* FROM (SELECT ({total}) AS total) x LEFT JOIN LATERAL (\
             SELECT t.millis, t.found, {} FROM (SELECT t.*, {sizes} FROM ({page}) t \
             JOIN bodies b ON b.task = t.key) t JOIN bodies b ON b.task = t.key{within}\
             ) p ON true ORDER BY p.millis DESC, p.id DESC",
            stored!("b.position", "NULL::bytea")
        );
        list
    }

    fn param(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> String {
        self.params.push((Box::new(value), kind));
        format!("${}", self.params.len())
    }

    pub(super) fn params(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        fn param((value, kind): &(Param, Type)) -> (&(dyn ToSql + Sync), Type) {
            (&**value, kind.clone())
        }
        self.params.iter().map(param).collect()
    }
}

/// The totals column of a state, or of all states.
fn column(state: Option<TaskState>) -> String {
    let all = || "s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8".to_owned();
    state.map_or_else(all, |state| format!("s{}", state_number(state)))
}

impl PostgresStore {
    pub(super) async fn page(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage> {
        if !is_possible_scope(scope) {
            return Ok(TaskPage::default());
        }
        let list = ListQuery::new(scope, query);
        // Planned for each page: the number of matching tasks depends so much on the filters that
        // no single plan suits all.
        let rows = self.pool.read_once(&list.sql, &list.params()).await?;
        let mut page = TaskPage::default();
        for row in &rows {
            page.total = usize::try_from(get::<i64>(row, "total")?).unwrap_or_default();
            let id: Option<&str> = get(row, "id")?;
            if id.is_none() {
                break;
            }
            if page.tasks.len() == query.limit {
                page.has_more = true;
                break;
            }
            page.tasks.push(StoredRow::read(row)?.stored.task);
            // Omitted because of its size.
            page.has_more =
                usize::try_from(get::<i64>(row, "found")?).unwrap_or_default() > rows.len();
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_a_count_column() {
        for number in 0..9 {
            let state = TaskState::try_from(number);
            assert_eq!(state.map(|state| column(Some(state))), Ok(format!("s{number}")));
            assert!(column(None).contains(&format!("s{number}")));
        }
        assert!(TaskState::try_from(9).is_err(), "a new state needs a column");
    }
}
