//! Dead letters.

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::store::{DeadLetter, DeadLetterQuery};
use tokio_postgres::{Row, types::ToSql};

use super::row::{self, get, position, scope};
use crate::Result;

/// The letters matching a query, newest first. `$5` is in milliseconds.
macro_rules! chosen {
    ($columns:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM dead_letters \
            WHERE ($1::text IS NULL OR task_id = $1) AND ($2::text IS NULL OR config_id = $2) \
            AND ($3::text IS NULL OR tenant = $3) AND ($4::text IS NULL OR owner = $4) \
            AND ($5::int8 IS NULL OR died < to_timestamp($5 / 1000.0)) \
            ORDER BY number DESC LIMIT $6"
        )
    };
}

pub(super) const LIST: &str = chosen!(
    "tenant, owner, task_id, config_id, url, event, attempts, error, \
    (extract(epoch FROM died) * 1000)::int8 AS millis"
);

pub(super) const PURGE: &str = concat!(
    "WITH c AS MATERIALIZED (",
    chosen!("number"),
    "), d AS (DELETE FROM dead_letters d USING c WHERE d.number = c.number RETURNING 1) \
    SELECT count(*) AS purged FROM d"
);

/// Rewinds webhooks to the first of their letters, unless an event was removed.
pub(super) const REDELIVER: &str = concat!(
    "WITH c AS MATERIALIZED (",
    chosen!("number, task_id, config_id COLLATE \"C\" AS config_id, event"),
    "), o AS MATERIALIZED (\
        SELECT c.task_id, c.config_id, min(c.event) AS first FROM c \
        JOIN tasks t ON t.id = c.task_id \
        GROUP BY c.task_id, c.config_id, t.key HAVING bool_and(EXISTS (\
            SELECT FROM events e WHERE e.task = t.key AND e.pushed \
            AND e.first <= c.event AND e.last >= c.event))), \
    w AS (\
        UPDATE webhooks w SET place = least(w.place, o.first - 1), attempts = 0, due = now(), \
            claim = w.claim + 1 \
        FROM o WHERE w.task_id = o.task_id AND w.config_id = o.config_id \
        RETURNING w.task_id, w.config_id, o.first), \
    d AS (\
        DELETE FROM dead_letters d USING w WHERE d.task_id = w.task_id \
        AND d.config_id COLLATE \"C\" = w.config_id AND d.event >= w.first) \
    SELECT count(*) AS chosen, count(*) FILTER (WHERE EXISTS (\
        SELECT FROM w WHERE w.task_id = c.task_id AND w.config_id = c.config_id)) AS queued FROM c"
);

/// The parameters of [`chosen!`].
pub(super) struct Params<'a> {
    query: &'a DeadLetterQuery,
    before: Option<i64>,
    limit: i64,
}

impl<'a> Params<'a> {
    pub(super) fn new(query: &'a DeadLetterQuery) -> Self {
        let before = query.before.map(|before| before.as_millis());
        Self { query, before, limit: row::limit(query.limit) }
    }

    pub(super) fn all(&self) -> [&(dyn ToSql + Sync); 6] {
        let DeadLetterQuery { task_id, config_id, tenant, owner, .. } = self.query;
        [task_id, config_id, tenant, owner, &self.before, &self.limit]
    }
}

pub(super) fn letter(row: &Row) -> Result<DeadLetter> {
    let attempts: i32 = get(row, "attempts")?;
    let (task_id, config_id): (String, String) = (get(row, "task_id")?, get(row, "config_id")?);
    let event = position(get(row, "event")?);
    let time = Timestamp::from_millis(get(row, "millis")?);
    let (url, error): (String, String) = (get(row, "url")?, get(row, "error")?);
    Ok(DeadLetter::new(scope(row)?, task_id, config_id, event, time)
        .with_url(url)
        .with_attempts(u32::try_from(attempts).unwrap_or_default())
        .with_error(error))
}
