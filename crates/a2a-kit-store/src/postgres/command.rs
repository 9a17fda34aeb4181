//! Commands between nodes.

use std::sync::Arc;

use a2a_kit_operations::{
    Scope,
    store::{Command, StoreError},
};
use bytes::Bytes;

use super::{
    PostgresStore,
    row::{get, is_possible},
};

const POST: &str = "
WITH t AS (
    UPDATE tasks SET commands = commands + 1
    WHERE id = $1 AND tenant = $2 AND owner = $3 AND node IS NOT NULL
        AND NOT EXISTS (SELECT FROM commands WHERE id = $4)
    RETURNING id, node
), c AS (
    INSERT INTO commands (id, task_id, poster, body) SELECT $4, id, $6, $5 FROM t
), notified AS MATERIALIZED (
    SELECT pg_notify($7::text, $6::text || E'\\np ' || node || ' ' || id)::text AS notified FROM t
    WHERE $7 IS NOT NULL
)
SELECT (SELECT count(notified) FROM notified) FROM t
UNION ALL
SELECT 0 FROM commands WHERE id = $4";

const WAITING: &str =
    "SELECT id, body FROM commands WHERE task_id = $1 AND answer IS NULL ORDER BY number";

// The row of the task is locked first, as everywhere.
const ANSWER: &str = "
WITH t AS MATERIALIZED (
    SELECT key FROM tasks
    WHERE id = (SELECT task_id FROM commands WHERE id = $1 AND answer IS NULL) FOR UPDATE
), c AS (
    UPDATE commands SET answer = $2
    WHERE id = $1 AND answer IS NULL AND EXISTS (SELECT FROM t)
    RETURNING id, poster
), d AS (
    UPDATE tasks SET commands = tasks.commands - 1 FROM t, c WHERE tasks.key = t.key
), notified AS MATERIALIZED (
    SELECT pg_notify($4::text, $3::text || E'\\na ' || poster || ' ' || id)::text AS notified FROM c
    WHERE $4 IS NOT NULL
)
SELECT count(notified) FROM notified";

const READ: &str =
    "SELECT answer FROM commands WHERE id = $1 AND poster = $2 AND answer IS NOT NULL";

const FORGET: &str = "DELETE FROM commands WHERE id = $1 AND poster = $2 AND answer IS NOT NULL";

impl PostgresStore {
    pub(super) async fn insert_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: &Command,
    ) -> Result<bool, StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(false);
        }
        let (tenant, owner, me) = (&*scope.tenant, &*scope.owner, &*self.node);
        let (id, body) = (&*command.id, &*command.body);
        let params: super::link::Params<'_> =
            &[&task_id, &tenant, &owner, &id, &body, &me, &self.channel];
        Ok(!self.pool.write_idempotent(POST, params).await?.is_empty())
    }

    pub(super) async fn pending_commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        let rows = self.pool.read(WAITING, &[&task_id]).await?;
        let command = |row| {
            let (id, body): (&str, &[u8]) = (get(row, "id")?, get(row, "body")?);
            Ok(Command { id: Arc::from(id), body: Bytes::copy_from_slice(body) })
        };
        rows.iter().map(command).collect()
    }

    pub(super) async fn store_answer(&self, id: &str, answer: &[u8]) -> Result<(), StoreError> {
        let me = &*self.node;
        self.pool.write_idempotent(ANSWER, &[&id, &answer, &me, &self.channel]).await?;
        Ok(())
    }

    pub(super) async fn load_answer(&self, id: &str) -> Result<Option<Bytes>, StoreError> {
        let me = &*self.node;
        let rows = self.pool.read(READ, &[&id, &me]).await?;
        let answer = |row| Ok(Bytes::copy_from_slice(get(row, "answer")?));
        rows.first().map(answer).transpose()
    }

    pub(super) async fn remove_answer(&self, id: &str) -> Result<(), StoreError> {
        let me = &*self.node;
        self.pool.write_idempotent(FORGET, &[&id, &me]).await?;
        Ok(())
    }
}
