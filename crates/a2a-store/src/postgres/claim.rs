//! Idempotency keys.

use a2a_operations::{
    Scope,
    store::{Claim, StoreError},
};

use super::{
    PostgresStore,
    row::{get, is_possible, key},
};

const CLAIM: &str = "
WITH n AS (
    INSERT INTO claims (tenant, owner, key, fingerprint, task_id) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (tenant, owner, key) DO NOTHING RETURNING task_id, fingerprint
)
SELECT true AS is_new, task_id, fingerprint FROM n
UNION ALL
SELECT false, task_id, fingerprint FROM claims
WHERE tenant = $1 AND owner = $2 AND key = $3 AND NOT EXISTS (SELECT FROM n)";

// Whoever stores a task under the key holds the row until that is done, so what comes after this
// sees the task.
const LOCK: &str = "SELECT 1 FROM claims WHERE tenant = $1 AND owner = $2 AND key = $3 FOR UPDATE";

const RECLAIM: &str = "
UPDATE claims SET task_id = $5, fingerprint = $6
WHERE tenant = $1 AND owner = $2 AND key = $3 AND task_id = $4 AND NOT EXISTS (
    SELECT FROM tasks WHERE id = $4 AND tasks.tenant = $1 AND tasks.owner = $2)
RETURNING 1";

const UNCLAIM: &str =
    "DELETE FROM claims WHERE tenant = $1 AND owner = $2 AND key = $3 AND task_id = $4";

impl PostgresStore {
    pub(super) async fn claim_key(
        &self,
        scope: &Scope,
        name: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        if !is_possible(scope, task_id) {
            return Err(StoreError::failed(
                "the tenant, the owner or the task has too long a name",
            ));
        }
        let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
        let mark = fingerprint.cast_signed();
        // A key that somebody ties at the same moment is neither new nor seen yet: what ties it
        // was not there when the statement began, and is when the next one does.
        for _ in 0..8 {
            let params: super::link::Params<'_> = &[&tenant, &owner, &name, &mark, &task_id];
            let rows = self.pool.write(CLAIM, params).await?;
            let Some(row) = rows.first() else { continue };
            if get(row, "is_new")? {
                return Ok(Claim::New);
            }
            let fingerprint: i64 = get(row, "fingerprint")?;
            return Ok(Claim::Known {
                task_id: get(row, "task_id")?,
                fingerprint: fingerprint.cast_unsigned(),
            });
        }
        Err(StoreError::failed("an idempotency key is tied and untied all the time"))
    }

    pub(super) async fn reclaim_key(
        &self,
        scope: &Scope,
        name: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        if is_possible(scope, gone) && is_possible(scope, task_id) {
            let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
            let mark = fingerprint.cast_signed();
            let lock: super::link::Params<'_> = &[&tenant, &owner, &name];
            let params: super::link::Params<'_> = &[&tenant, &owner, &name, &gone, &task_id, &mark];
            if !self.pool.write_locked((LOCK, lock), (RECLAIM, params)).await?.is_empty() {
                return Ok(Claim::New);
            }
        }
        self.claim_key(scope, name, fingerprint, task_id).await
    }

    pub(super) async fn unclaim_key(
        &self,
        scope: &Scope,
        name: &str,
        task_id: &str,
    ) -> Result<(), StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(());
        }
        let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
        self.pool.write(UNCLAIM, &[&tenant, &owner, &name, &task_id]).await?;
        Ok(())
    }
}
