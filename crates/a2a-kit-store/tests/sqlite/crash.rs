//! Acknowledged writes survive SIGKILL.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use a2a_kit_operations::store::{LeaseStore as _, TaskStore as _};
use a2a_kit_store::sqlite::{OpenError, SqliteStore};
use a2a_kit_store_testing::store::fixtures::{
    chunk, commit, get, insert_held, replayed, scope, task,
};
use tempfile::TempDir;

/// Names the file that the child process writes to.
const FILE: &str = "A2A_STORE_TEST_FILE";

/// A child process that writes to a file, and is killed at the end.
struct Other {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Other {
    fn start(path: &Path) -> Self {
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--exact", "sqlite::crash::another_process_writes", "--nocapture"])
            .env(FILE, path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        Self { process, said }
    }

    /// Waits until it has acknowledged an event, and returns the number of it.
    fn written(&mut self) -> u64 {
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "the other process has ended");
            if let Some((_, number)) = line.rsplit_once("written ") {
                return number.trim().parse().unwrap();
            }
        }
    }

    /// Kills it with SIGKILL.
    fn kill(mut self) -> u64 {
        let mut last = 0;
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // Acknowledgements printed before the kill count too.
        for line in self.said.by_ref().lines().map_while(Result::ok) {
            if let Some((_, number)) = line.rsplit_once("written ")
                && let Ok(number) = number.trim().parse()
            {
                last = number;
            }
        }
        last
    }
}

/// The child process; without its variable this test does nothing.
#[tokio::test]
async fn another_process_writes() {
    let Some(path) = env::var_os(FILE) else { return };
    let store = SqliteStore::open(path).await.unwrap();
    let ann = scope("ann");
    insert_held(&store, &ann, "t", b"work").await;
    for version in 1.. {
        let position = version + 1;
        let chunks = vec![chunk(position, "t", "x")];
        commit(&store, &ann, "t", version, chunks, None).await.unwrap();
        writeln!(io::stdout(), "written {position}").unwrap();
    }
}

#[tokio::test]
async fn acknowledged_writes_survive_sigkill() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let mut other = Other::start(&path);
    let mut seen = 0;
    while seen < 50 {
        seen = other.written();
    }
    let seen = seen.max(other.kill());

    let store = SqliteStore::open(&path).await.unwrap();
    let ann = scope("ann");
    let stored = get(&store, &ann, "t").await;
    let last = stored.last_event.get();
    assert!(last == seen || last == seen + 1, "{last} is stored and {seen} was said");
    assert_eq!(stored.version, last);
    assert_eq!(u64::try_from(stored.task.text().len()).unwrap(), last - 1);
    assert_eq!(u64::try_from(replayed(&store, &ann, "t", 1).await.len()).unwrap(), last - 1);
    let orphans = store.take_over(10).await.unwrap();
    assert_eq!(&*orphans[0].checkpoint, b"work");
    let new = task("new", "c", a2a_core::TaskState::Working, 5);
    a2a_kit_store_testing::store::fixtures::insert(&store, &ann, &new).await;
    assert_eq!(store.list(&ann, &Default::default()).await.unwrap().total, 2);
}

#[tokio::test]
async fn file_open_in_another_process_is_rejected() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a2a.db");
    let mut other = Other::start(&path);
    other.written();
    let error = SqliteStore::open(&path).await.expect_err("it is open elsewhere");
    let OpenError::InUse { holder, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*holder, other.process.id().to_string());
    assert!(error.to_string().contains("a2a.db"), "{error}");
    other.written();
    other.kill();
    SqliteStore::open(&path).await.unwrap().close().await;
}
