//! Stores with tasks in them.

use std::{path::Path, sync::Arc};

use a2a_core::TaskState;
use a2a_kit_operations::{
    MemoryStore, Scope, Store,
    store::{NewTask, StoredTask, TaskPage, Transition},
};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_store_testing::store::fixtures;
use futures_util::future;
use tokio::runtime::Runtime;

/// How many tasks a store holds before anything is counted.
const TASKS: usize = 200;

/// How many operations in a row are counted, so that the growth of a table or of a page of a
/// database is spread over all of them.
const OPERATIONS: usize = 200;

/// How many pages are listed in a row, and how many tasks each has.
const PAGES: usize = 20;
const PAGE_SIZE: usize = 10;

/// The file of [`prepare_file`], in the working directory.
const FILE: &str = "tasks.db";

/// A store with tasks in it, the runtime that it runs on, and what to write.
#[derive(Debug)]
pub struct Stored<S = MemoryStore> {
    store: S,
    runtime: Runtime,
    scope: Scope,
    new: Vec<NewTask>,
    transitions: Vec<Transition>,
}

impl Stored {
    /// A store in memory.
    pub fn memory() -> Self {
        let mut stored = Self::new(crate::runtime(), MemoryStore::new());
        stored.fill();
        stored
    }
}

impl Stored<SqliteStore> {
    /// The store in the file of [`prepare_file`].
    pub fn sqlite() -> Self {
        let runtime = crate::runtime();
        let opened = runtime.block_on(SqliteStore::open(Path::new(FILE)));
        Self::new(runtime, opened.expect("the file can be opened"))
    }

    /// Closes the file.
    pub fn close(self) {
        self.runtime.block_on(self.store.close());
    }
}

impl<S: Store> Stored<S> {
    fn new(runtime: Runtime, store: S) -> Self {
        Self {
            store,
            runtime,
            scope: fixtures::scope("owner"),
            new: (TASKS..TASKS + OPERATIONS).map(new_task).collect(),
            transitions: (0..OPERATIONS).map(transition).collect(),
        }
    }

    fn fill(&mut self) {
        let tasks = (0..TASKS).map(|number| self.store.insert(&self.scope, new_task(number)));
        let inserted = self.runtime.block_on(future::try_join_all(tasks));
        inserted.expect("the tasks are new");
    }

    /// Stores new tasks.
    pub fn insert(&mut self) {
        self.runtime.block_on(async {
            for new in self.new.drain(..) {
                self.store.insert(&self.scope, new).await.expect("the tasks are new");
            }
        });
    }

    /// Writes a transition to each of some tasks.
    pub fn commit(&mut self) {
        self.runtime.block_on(async {
            for transition in self.transitions.drain(..) {
                self.store.commit(&self.scope, transition).await.expect("there is no other writer");
            }
        });
    }

    /// Returns some tasks.
    pub fn get(&self) -> Vec<StoredTask> {
        self.runtime.block_on(async {
            let mut tasks = Vec::with_capacity(OPERATIONS);
            for number in 0..OPERATIONS {
                tasks.push(fixtures::get(&self.store, &self.scope, &id(number)).await);
            }
            tasks
        })
    }

    /// Lists the newest tasks, again and again.
    pub fn list(&self) -> Vec<TaskPage> {
        let query = fixtures::query(PAGE_SIZE);
        self.runtime.block_on(async {
            let mut pages = Vec::with_capacity(PAGES);
            for _ in 0..PAGES {
                pages.push(fixtures::list(&self.store, &self.scope, &query).await);
            }
            pages
        })
    }
}

/// Makes a SQLite file with tasks in the working directory.
pub fn prepare_file() {
    let mut stored = Stored::sqlite();
    stored.fill();
    stored.close();
}

fn id(number: usize) -> String {
    format!("0198c8f2-5f6e-7c1d-9d54-{number:012}")
}

fn millis(number: usize) -> i64 {
    i64::try_from(number).expect("there are few tasks")
}

fn new_task(number: usize) -> NewTask {
    fixtures::new_task(&fixtures::task(&id(number), "context", TaskState::Working, millis(number)))
}

/// A chunk of an artifact, and the end of the task.
fn transition(number: usize) -> Transition {
    let id = id(number);
    let task = fixtures::task(&id, "context", TaskState::Completed, millis(number));
    let events =
        vec![fixtures::chunk(2, &id, "the second week of May"), fixtures::changed(3, &task)];
    fixtures::transition(&id, 1, 1, events).with_snapshot(Arc::new(task))
}
