//! Reads of tasks and their logs.

use a2a_kit_operations::{
    EventId, Scope,
    store::{Replay, StoreError, StoredTask},
};

use super::{
    PostgresStore,
    row::{StoredRow, get, is_possible, natural, number, stored, unpack},
};

const GET: &str = concat!(
    "SELECT ",
    stored!("b.position"),
    "FROM tasks t JOIN bodies b ON b.task = t.key WHERE t.id = $1 AND t.tenant = $2 AND t.owner = $3"
);

const LOAD: &str = concat!(
    "SELECT ",
    stored!("least(b.position, $4)"),
    "FROM tasks t JOIN bodies b ON b.task = t.key WHERE t.id = $1 AND t.tenant = $2 AND t.owner = $3"
);

const REPLAY: &str = "SELECT e.first, e.body FROM tasks t \
    LEFT JOIN events e ON e.task = t.key AND e.last > $4 \
    WHERE t.id = $1 AND t.tenant = $2 AND t.owner = $3 ORDER BY e.last";

impl PostgresStore {
    pub(super) async fn read(
        &self,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Option<StoredTask>, StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(None);
        }
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let rows = self.pool.read(GET, &[&task_id, &tenant, &owner]).await?;
        rows.first().map(|row| Ok(StoredRow::read(row)?.stored)).transpose()
    }

    pub(super) async fn read_with_log(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(None);
        }
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let place = number(after.get());
        let rows = self.pool.read(LOAD, &[&task_id, &tenant, &owner, &place]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let row = StoredRow::read(row)?;
        let replay = row.replay(after)?;
        Ok(Some((row.stored, replay)))
    }

    pub(super) async fn read_log(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        if !is_possible(scope, task_id) {
            return Ok(None);
        }
        let (tenant, owner) = (&*scope.tenant, &*scope.owner);
        let place = number(after.get());
        let rows = self.pool.read(REPLAY, &[&task_id, &tenant, &owner, &place]).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut events = Vec::new();
        for row in &rows {
            // A task without events after the position is one row of nulls.
            let first: Option<i64> = get(row, "first")?;
            if let Some(first) = first {
                unpack(first, get(row, "body")?, natural(place), false, &mut events)?;
            }
        }
        Ok(Some(Replay::Events(events)))
    }
}
