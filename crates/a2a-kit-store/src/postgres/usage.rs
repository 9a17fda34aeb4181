//! Usage of owners, measured periodically.

use std::time::Instant;

use a2a_kit_operations::store::{StoreError, Usage};

use super::{
    PostgresStore,
    row::{get, is_name, natural},
};

/// Sums over the tasks of an owner, in all tenants.
const USAGE: &str = "\
    SELECT (SELECT coalesce(sum(s0 + s1 + s2 + s6 + s8), 0)::int8 FROM totals \
        WHERE owner = $1 AND whole) AS open, \
    (SELECT coalesce(sum(t.event_bytes + t.snapshot_bytes), 0)::int8 \
        FROM (SELECT DISTINCT tenant FROM totals WHERE owner = $1 AND whole) x \
        JOIN tasks t ON t.tenant = x.tenant AND t.owner = $1) AS bytes";

impl PostgresStore {
    pub(super) async fn measured(&self, owner: &str) -> Result<Usage, StoreError> {
        if !is_name(owner) {
            return Ok(Usage::default());
        }
        if let Some(usage) = self.usages.known(owner) {
            return Ok(usage);
        }
        let begun = Instant::now();
        let rows = self.pool.read(USAGE, &[&owner]).await;
        if rows.is_err() {
            self.usages.forget(owner);
        }
        let rows = rows?;
        let Some(row) = rows.first() else { return Ok(Usage::default()) };
        let open = usize::try_from(get::<i64>(row, "open")?).unwrap_or_default();
        let usage = Usage::new(open, natural(get(row, "bytes")?));
        self.usages.put(owner, usage, begun.elapsed());
        Ok(usage)
    }
}
