//! Schema migrations.

use super::{
    PostgresError,
    link::{Connector, Link, quoted},
    link_error::LinkError,
};

mod embedded {
    #![allow(missing_docs, unreachable_pub, clippy::str_to_string, reason = "generated from SQL")]
    refinery::embed_migrations!("src/postgres/migrations");
}

/// Creates or migrates the schema. One node does so while others wait.
pub(super) async fn migrate(connector: &Connector) -> Result<(), PostgresError> {
    let (host, database) = connector.place();
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| PostgresError::Migrate {
        host: host.clone(),
        database: database.clone(),
        source,
    };
    let mut link = connector.link().await.map_err(|error| connector.unreachable(error))?;
    // Another node may migrate for longer than a statement waits otherwise.
    let wait = link.client().batch_execute("SET lock_timeout = 0").await;
    wait.map_err(|error| failed(error.into()))?;
    let schema = connector.schema();
    let found = prepare(&mut link, schema).await.map_err(|error| failed(error.into()))?;
    tracing::debug!(schema, ?found, "checking schema version");
    let runner = embedded::migrations::runner();
    let known = runner.get_migrations().iter().map(|step| step.version()).max().unwrap_or(0);
    let found = found.and_then(|version| u32::try_from(version).ok()).unwrap_or(0);
    if found > known.unsigned_abs() {
        return Err(PostgresError::TooNew { host, database, found, known: known.unsigned_abs() });
    }
    // Closing the connection releases the lock.
    runner.run_async(link.client()).await.map_err(|error| failed(error.into()))?;
    Ok(())
}

/// Locks the schema against other nodes, and returns its version.
async fn prepare(link: &mut Link, schema: &str) -> Result<Option<i32>, LinkError> {
    link.query("SELECT pg_advisory_lock(hashtext('a2a'), hashtext($1))", &[&schema]).await?;
    let there = "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL";
    let there = link.query(there, &[&schema]).await?;
    let is_there = there.first().map_or(Ok(false), |row| row.try_get(0))?;
    if !is_there {
        link.client().batch_execute(&format!("CREATE SCHEMA {}", quoted(schema))).await?;
    }
    let history = format!("{}.refinery_schema_history", quoted(schema));
    let made = link.query("SELECT to_regclass($1) IS NOT NULL", &[&history]).await?;
    if !made.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(None);
    }
    let newest = "SELECT max(version) FROM refinery_schema_history";
    let newest = link.query(newest, &[]).await?;
    Ok(newest.first().map_or(Ok(None), |row| row.try_get(0))?)
}
