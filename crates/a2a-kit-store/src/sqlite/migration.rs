//! Migrations of the schema.

use std::{path::Path, time::SystemTime};

use refinery::{Migration, embed_migrations};
use refinery_core::{
    Migrate,
    traits::sync::{Query, Transaction},
};
use rusqlite::{Connection, OptionalExtension as _};

use super::open_error::{OpenError, not_a_store, refused};

embed_migrations!("src/sqlite/migrations");

/// Identifies our databases in the file header: "A2As".
const APPLICATION_ID: i32 = 0x4132_4173;

/// Checks that a file is ours.
pub(super) fn check_owner(path: &Path, db: &Connection) -> Result<(), OpenError> {
    let id = application_id(db).map_err(|error| refused(path, error))?;
    if id == APPLICATION_ID { Ok(()) } else { Err(foreign(path)) }
}

/// Migrates the schema, after checking that the file is ours and not newer.
pub(super) fn migrate(path: &Path, db: &mut Connection) -> Result<(), OpenError> {
    let failed = |error| refused(path, error);
    let things = "SELECT count(*) FROM sqlite_schema";
    let things: i64 = db.query_row(things, [], |row| row.get(0)).map_err(failed)?;
    match (application_id(db).map_err(failed)?, things) {
        (APPLICATION_ID, _) => {}
        (0, 0) => db.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?,
        _ => return Err(foreign(path)),
    }
    let runner = migrations::runner();
    let known = runner.get_migrations().iter().map(|migration| i64::from(migration.version()));
    let known = known.max().unwrap_or_default();
    if let Some(found) = version(db).map_err(failed)?.filter(|found| *found > known) {
        return Err(OpenError::NewerSchema { path: path.to_owned(), found, known });
    }
    let migrated = runner.run(&mut Database(db));
    migrated.map_err(|error| OpenError::Failed { path: path.to_owned(), source: error.into() })?;
    Ok(())
}

fn application_id(db: &Connection) -> rusqlite::Result<i32> {
    db.query_row("PRAGMA application_id", [], |row| row.get(0))
}

fn foreign(path: &Path) -> OpenError {
    not_a_store(path, "the database belongs to another program")
}

fn version(db: &Connection) -> rusqlite::Result<Option<i64>> {
    let query = "SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'";
    if db.query_row(query, [], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    db.query_row("SELECT max(version) FROM refinery_schema_history", [], |row| row.get(0))
}

/// A database to migrate. The driver of refinery is for certain versions of rusqlite only.
struct Database<'a>(&'a mut Connection);

impl Transaction for Database<'_> {
    type Error = rusqlite::Error;

    fn execute<'a, T: Iterator<Item = &'a str>>(&mut self, queries: T) -> rusqlite::Result<usize> {
        let transaction = self.0.transaction()?;
        let mut count = 0;
        for query in queries {
            transaction.execute_batch(query)?;
            count += 1;
        }
        transaction.commit()?;
        Ok(count)
    }
}

impl Query<Vec<Migration>> for Database<'_> {
    fn query(&mut self, query: &str) -> rusqlite::Result<Vec<Migration>> {
        let applied = |row: &rusqlite::Row<'_>| {
            let checksum: String = row.get("checksum")?;
            // A checksum that is not a number belongs to no migration of ours.
            let checksum = checksum.parse().unwrap_or_default();
            // When it was applied makes no difference.
            let applied_on = SystemTime::UNIX_EPOCH.into();
            Ok(Migration::applied(row.get("version")?, row.get("name")?, applied_on, checksum))
        };
        self.0.prepare(query)?.query_map([], applied)?.collect()
    }
}

impl Migrate for Database<'_> {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use a2a_core::TaskState;
    use a2a_kit_operations::store::Usage;
    use a2a_kit_store_testing::store::fixtures::{query, scope};
    use refinery::Target;
    use tempfile::TempDir;

    use super::{
        super::{connection::open_writer, page::page, read::usage, sweep},
        *,
    };

    #[test]
    fn tasks_of_an_earlier_version_are_counted() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a2a.db");
        let mut db = open_writer(&path).unwrap();
        let earlier = migrations::runner().set_target(Target::Version(3));
        earlier.run(&mut Database(&mut db)).unwrap();
        db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        db.execute_batch(
            "INSERT INTO scopes (tenant, owner) VALUES ('', 'ann');
             INSERT INTO contexts (scope, id) VALUES (1, 'c');
             INSERT INTO tasks
                 (id, scope, context, state, millis, ended, version, epoch, last_event)
                 VALUES ('t', 1, 1, 3, 5, 5, 1, 1, 1), ('u', 1, 1, 2, 5, NULL, 1, 1, 1);
             INSERT INTO snapshots SELECT no, 1, x'00' FROM tasks;
             UPDATE tasks SET bytes = 1;",
        )
        .unwrap();

        migrate(&path, &mut db).unwrap();
        let counted = |context: Option<&str>, state| {
            let query = query(10).with_context_id(context.map(str::to_owned)).with_state(state);
            page(&db, &scope("ann"), &query).unwrap().total
        };
        for context in [None, Some("c")] {
            assert_eq!(counted(context, None), 2);
            assert_eq!(counted(context, Some(TaskState::Working)), 1);
            assert_eq!(counted(context, Some(TaskState::Failed)), 0);
        }
        assert_eq!(usage(&db, "ann").unwrap(), Usage::new(1, 2));

        sweep::tasks(&db, sweep::ENDED, Duration::ZERO, 10).unwrap();
        assert_eq!((counted(None, None), counted(Some("c"), Some(TaskState::Completed))), (1, 0));
        assert_eq!(usage(&db, "ann").unwrap(), Usage::new(1, 1));
    }
}
