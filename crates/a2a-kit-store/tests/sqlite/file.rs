//! Opening files.

use std::{env, error::Error as _, fs, path::Path, process::Command};

use a2a_core::TaskState;
use a2a_kit_store::sqlite::{OpenError, SqliteStore};
use a2a_kit_store_testing::store::fixtures::{get, insert, scope, task};
use rusqlite::Connection;
use tempfile::TempDir;

async fn refused(path: &Path) -> OpenError {
    let error = SqliteStore::open(path).await.expect_err("it can't be opened");
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(error.to_string().contains(name), "{error} names the file");
    error
}

#[tokio::test]
async fn missing_file_is_created() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new.db");
    let store = SqliteStore::open(&path).await.unwrap();
    assert_eq!(store.path(), path);
    insert(&store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    assert_eq!(get(&store, &scope("ann"), "t").await.version, 1);
}

#[tokio::test]
async fn empty_file_becomes_a_store() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("empty.db");
    fs::write(&path, "").unwrap();
    SqliteStore::open(&path).await.unwrap().close().await;
}

#[tokio::test]
async fn missing_directory_is_rejected() {
    let folder = TempDir::new().unwrap();
    let error = refused(&folder.path().join("nowhere/a2a.db")).await;
    assert!(matches!(error, OpenError::NoDirectory { .. }), "{error:?}");
}

#[tokio::test]
async fn non_database_file_is_rejected_and_unchanged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    let notes = "This is no database, however long it is. ".repeat(100);
    fs::write(&path, &notes).unwrap();
    let error = refused(&path).await;
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), notes);
    let error = refused(folder.path()).await;
    assert!(matches!(error, OpenError::NotAStore { .. }), "a folder: {error:?}");
}

#[tokio::test]
async fn foreign_database_is_rejected_and_unchanged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE things (name TEXT)").unwrap();
    let error = refused(&path).await;
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
    assert!(error.source().unwrap().to_string().contains("another program"));
    let other = Connection::open(&path).unwrap();
    let tables = "SELECT count(*) FROM sqlite_schema";
    assert_eq!(other.query_row(tables, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[tokio::test]
async fn newer_schema_is_rejected() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("newer.db");
    SqliteStore::open(&path).await.unwrap().close().await;
    let newer = Connection::open(&path).unwrap();
    let applied = "INSERT INTO refinery_schema_history VALUES (99, 'later', '2030', '1')";
    newer.execute(applied, []).unwrap();
    drop(newer);
    let error = refused(&path).await;
    assert!(matches!(error, OpenError::NewerSchema { found: 99, known: 1.., .. }), "{error:?}");
    assert!(error.to_string().contains("version 99"), "{error}");
}

#[tokio::test]
async fn file_is_locked_under_all_its_names() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [&path, &link, &folder.path().join("./a2a.db")] {
        let error = SqliteStore::open(name).await.expect_err("it is open");
        assert!(matches!(error, OpenError::InUse { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains("a2a.db"), "{message}");
        assert!(message.contains(&std::process::id().to_string()), "{message}");
    }
    insert(&store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    store.close().await;
    SqliteStore::open(&link).await.unwrap().close().await;
}

#[tokio::test]
async fn hard_link_to_an_open_database_is_refused() {
    let folder = TempDir::new().unwrap();
    let (path, link) = (folder.path().join("a2a.db"), folder.path().join("link.db"));
    let store = SqliteStore::open(&path).await.unwrap();
    fs::hard_link(&path, &link).unwrap();
    let error = refused(&link).await;
    assert!(matches!(error, OpenError::InUse { .. }), "{error:?}");
    assert!(!folder.path().join("link.db.lock").exists());
    store.close().await;
    SqliteStore::open(&link).await.unwrap().close().await;
}

#[tokio::test]
async fn database_stays_locked_after_its_lock_file_is_removed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let store = SqliteStore::open(&path).await.unwrap();
    fs::remove_file(folder.path().join("a2a.db.lock")).unwrap();
    let error = refused(&path).await;
    assert!(matches!(error, OpenError::InUse { .. }), "{error:?}");
    insert(&store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    store.close().await;
}

/// Closing any descriptor of the file would drop the `fcntl` locks of SQLite, which tell other
/// programs, such as backup tools, that the database is open.
#[tokio::test]
async fn refused_open_leaves_the_locks_of_the_open_database() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let store = SqliteStore::open(&path).await.unwrap();
    insert(&store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    refused(&path).await;
    let other = Command::new(env::current_exe().unwrap())
        .args(["--exact", "sqlite::file::another_process_finds_the_database_locked", "--nocapture"])
        .env(LOCKED, &path)
        .status();
    assert!(other.unwrap().success(), "the database looks closed to other programs");
    store.close().await;
}

/// Names the file for the child process.
const LOCKED: &str = "A2A_STORE_TEST_LOCKED";

#[test]
fn another_process_finds_the_database_locked() {
    use rustix::fs::{FlockOperation, fcntl_lock};
    let Some(path) = env::var_os(LOCKED) else { return };
    let file = fs::File::options().read(true).write(true).open(path).unwrap();
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).expect_err("SQLite has it locked");
}

#[tokio::test]
async fn new_database_files_have_mode_0600() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path().join("a2a.db")).await.unwrap();
    insert(&store, &scope("ann"), &task("t", "c", TaskState::Working, 5)).await;
    let mode = |name: &str| {
        let data = fs::metadata(folder.path().join(name)).unwrap();
        data.permissions().mode() & 0o777
    };
    for name in ["a2a.db", "a2a.db-wal", "a2a.db-shm", "a2a.db.lock"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    store.close().await;
}
