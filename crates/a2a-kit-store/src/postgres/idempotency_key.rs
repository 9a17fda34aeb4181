//! Idempotency keys.

use a2a_kit_operations::{
    Scope,
    store::{Claim, StoreError},
};

use super::{
    PostgresStore,
    row::{IMPOSSIBLE, get, is_possible, key},
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

// An insert with the key locks the row until it is committed, so a later takeover sees the task.
const LOCK: &str = "SELECT 1 FROM claims WHERE tenant = $1 AND owner = $2 AND key = $3 FOR UPDATE";

const RECLAIM: &str = "
UPDATE claims SET task_id = $5, fingerprint = $6
WHERE tenant = $1 AND owner = $2 AND key = $3 AND task_id = $4 AND NOT EXISTS (
    SELECT FROM tasks WHERE id = $4 AND tasks.tenant = $1 AND tasks.owner = $2)
RETURNING 1";

const UNCLAIM: &str =
    "DELETE FROM claims WHERE tenant = $1 AND owner = $2 AND key = $3 AND task_id = $4";

impl PostgresStore {
    pub(super) async fn try_claim_key(
        &self,
        scope: &Scope,
        name: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        if !is_possible(scope, task_id) {
            return Err(StoreError::rejected(IMPOSSIBLE));
        }
        let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
        let mark = fingerprint.cast_signed();
        // A concurrent claim is neither new nor visible to this statement; retry to see it.
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
        Err(StoreError::failed("too many concurrent changes to an idempotency key"))
    }

    pub(super) async fn replace_key(
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
        self.try_claim_key(scope, name, fingerprint, task_id).await
    }

    pub(super) async fn delete_key(
        &self,
        scope: &Scope,
        name: &str,
        task_id: &str,
    ) -> Result<(), StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(());
        }
        let (tenant, owner, name) = (&*scope.tenant, &*scope.owner, &*key(name));
        self.pool.write_idempotent(UNCLAIM, &[&tenant, &owner, &name, &task_id]).await?;
        Ok(())
    }
}
