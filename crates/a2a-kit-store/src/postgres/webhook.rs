//! Webhook configs.

use a2a_kit_operations::{Scope, Webhook, store::StoreError};
use tokio_postgres::Row;

use super::{
    PostgresStore,
    row::{HookRow, get, is_possible, key},
};
use crate::{SecretKeys, codec::decode_webhook};

/// Decodes a webhook from columns `name` and `body`, with its id.
pub(super) fn read(
    row: &Row,
    task_id: &str,
    keys: &SecretKeys,
) -> Result<(String, Webhook), StoreError> {
    let name: &[u8] = get(row, "name")?;
    let name = String::from_utf8(name.to_vec()).map_err(StoreError::failed)?;
    let body: &[u8] = get(row, "body")?;
    let webhook = decode_webhook(task_id, &name, body, keys).map_err(StoreError::failed)?;
    Ok((name, webhook))
}

// The row of the task is changed first, so that this is ordered before or after a write to the
// task, never in the middle of one (`hooks` in commit.sql).
const PUT: &str = "
WITH t AS (
    UPDATE tasks SET hooks = hooks + 1 WHERE id = $1 AND tenant = $2 AND owner = $3
    RETURNING last_event
)
INSERT INTO webhooks (task_id, config_id, tenant, owner, name, url, body, place)
SELECT $1, $4, $2, $3, $5, $6, $7, t.last_event FROM t
ON CONFLICT (task_id, config_id) DO UPDATE SET url = excluded.url, body = excluded.body
RETURNING 1";

const GET: &str = "SELECT name, body FROM webhooks \
    WHERE task_id = $1 AND tenant = $2 AND owner = $3";

const DELETE: &str = "DELETE FROM webhooks \
    WHERE task_id = $1 AND tenant = $2 AND owner = $3 AND config_id = $4";

impl PostgresStore {
    pub(super) async fn put_webhook(
        &self,
        scope: &Scope,
        webhook: &Webhook,
    ) -> Result<(), StoreError> {
        let task_id = webhook.config.task_id.as_str();
        let conflict = || StoreError::Conflict { task_id: task_id.to_owned() };
        if !is_possible(scope, task_id) {
            return Err(conflict());
        }
        let row = HookRow::new(webhook, &self.keys)?;
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let name = row.name.as_bytes();
        let params: super::link::Params<'_> =
            &[&task_id, &tenant, &owner, &row.config_id, &name, &row.url, &row.body];
        let rows = self.pool.write_idempotent(PUT, params).await?;
        if rows.is_empty() { Err(conflict()) } else { Ok(()) }
    }

    pub(super) async fn webhooks(
        &self,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Vec<Webhook>, StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(Vec::new());
        }
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let rows = self.pool.read(GET, &[&task_id, &tenant, &owner]).await?;
        let read = |row| read(row, task_id, &self.keys);
        let mut webhooks = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        webhooks.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(webhooks.into_iter().map(|(_, webhook)| webhook).collect())
    }

    pub(super) async fn delete_webhook(
        &self,
        scope: &Scope,
        task_id: &str,
        id: &str,
    ) -> Result<(), StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(());
        }
        let (tenant, owner, id) = (&*scope.tenant, &*scope.owner, &*key(id));
        self.pool.write_idempotent(DELETE, &[&task_id, &tenant, &owner, &id]).await?;
        Ok(())
    }
}
