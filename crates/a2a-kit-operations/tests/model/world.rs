//! Nodes, callers, and the steps applied to them.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use a2a_core::{AgentCard, Message, TaskState, v1::SendMessageRequest};
use a2a_kit_operations::{
    Call, Engine, EngineConfig,
    store::{Sweep, TaskStore as _},
};
use a2a_kit_store_testing::MemoryNode;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{
    call::{Client, Expected, Shared},
    link::{Condition, Link, Linked},
    script::Scripted,
    step::{Mode, Step},
};

const LEASE: Duration = Duration::from_millis(200);
/// Time limit for everything to finish.
const LONG: Duration = Duration::from_secs(120);
/// Maximum number of nodes.
const NODES: usize = 8;

/// A call in progress, with a description.
type Waiting = (String, JoinHandle<()>);

struct Node {
    client: Client,
    /// Calls that end with the turn of a message, or sooner.
    calls: Vec<Waiting>,
    /// Calls that end with a task.
    watchers: Vec<Waiting>,
}

pub(super) struct World {
    shared: Arc<Shared>,
    store: MemoryNode,
    spare: Vec<MemoryNode>,
    seed: u64,
    nodes: Vec<Node>,
    gates: watch::Sender<u64>,
    keyed: Vec<(Call<SendMessageRequest>, Mode)>,
    sent: Vec<String>,
    canceled: HashSet<String>,
}

impl World {
    pub(super) fn new(nodes: usize, seed: u64) -> Self {
        let store = MemoryNode::with_lease(LEASE);
        let spare = (0..NODES).map(|number| store.join(&format!("node-{number}"))).collect();
        let mut world = Self {
            shared: Arc::default(),
            store,
            spare,
            seed,
            nodes: Vec::new(),
            gates: watch::Sender::new(0),
            keyed: Vec::new(),
            sent: Vec::new(),
            canceled: HashSet::new(),
        };
        (0..nodes).for_each(|_| world.join());
        world
    }

    fn join(&mut self) {
        let Some(store) = self.spare.pop() else { return };
        self.seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let link = Arc::new(Link::new(self.seed));
        let store = Linked { store, link: Arc::clone(&link), shared: Arc::clone(&self.shared) };
        let config = EngineConfig::default()
            .with_lease_renewal(LEASE / 4)
            .with_cancel_grace(Duration::from_millis(50))
            .with_store_retry_timeout(Duration::from_secs(2));
        let executor = Scripted { gates: self.gates.subscribe() };
        let engine = Engine::builder(AgentCard::new("Model", "An agent under test"), executor)
            .store(store)
            .config(config)
            .build();
        let client = Client { engine, link, shared: Arc::clone(&self.shared) };
        self.nodes.push(Node { client, calls: Vec::new(), watchers: Vec::new() });
    }

    /// A live node.
    fn node(&mut self, number: usize) -> Option<&mut Node> {
        if self.living().is_empty() {
            self.join();
        }
        let living = self.living();
        let index = living.get(number % living.len().max(1))?;
        self.nodes.get_mut(*index)
    }

    fn living(&self) -> Vec<usize> {
        let is_alive = |node: &Node| node.client.link.condition() != Condition::Down;
        (0..self.nodes.len()).filter(|index| is_alive(&self.nodes[*index])).collect()
    }

    fn task(&self, number: usize) -> Option<(String, u64)> {
        let records = self.shared.journal.lock();
        let id = records.ids.get(number % records.ids.len().max(1))?;
        Some((id.clone(), records.tasks[id].last()))
    }

    fn trouble(&self) {
        self.shared.troubled.store(true, Ordering::Relaxed);
    }

    fn message(&mut self, message: Message, keyed: bool, mode: Mode) -> Call<SendMessageRequest> {
        self.sent.push(message.message_id.clone());
        let key = message.message_id.clone();
        let message = Some(message);
        let mut call = Call::new(SendMessageRequest { message, ..SendMessageRequest::default() });
        if keyed {
            call.context.idempotency_key = Some(key);
            self.keyed.push((call.clone(), mode));
        }
        call
    }

    /// Calls a node.
    fn call<F>(&mut self, what: String, node: usize, work: impl FnOnce(Client) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(node) = self.node(node) {
            let work = work(node.client.clone());
            node.calls.push((what, tokio::spawn(work)));
        }
    }

    pub(super) async fn take(&mut self, step: Step) {
        let what = format!("{step:?}");
        let is_last = self.living().len() + self.spare.len() <= 1;
        if is_last && matches!(step, Step::Crash(_) | Step::Leave(_)) {
            return;
        }
        match step {
            Step::Send { node, script, mode, keyed } => {
                let call = self.message(Message::user(script), keyed, mode);
                self.call(what, node, |client| client.send(call, mode, false));
            }
            Step::FollowUp { node, task, script, mode, keyed } => {
                let Some((id, _)) = self.task(task) else { return };
                let call = self.message(Message::user(script).with_task_id(id), keyed, mode);
                self.call(what, node, |client| client.send(call, mode, false));
            }
            Step::Again { node, sent } => {
                let index = sent % self.keyed.len().max(1);
                let Some((call, mode)) = self.keyed.get(index).cloned() else { return };
                self.call(what, node, |client| client.send(call, mode, true));
            }
            Step::Cancel { node, task } => {
                let Some((id, _)) = self.task(task) else { return };
                self.canceled.insert(id.clone());
                self.call(what, node, |client| client.cancel(id));
            }
            Step::Get { node, task } => {
                let Some((id, _)) = self.task(task) else { return };
                self.call(what, node, |client| client.get(id));
            }
            Step::List { node, size, state } => {
                self.call(what, node, |client| async move {
                    let _ = client.list(size, state).await;
                });
            }
            Step::Subscribe { node, task, after } => {
                let Some((id, last)) = self.task(task) else { return };
                let after = after.map(|after| after.min(last));
                if let Some(node) = self.node(node) {
                    let work = node.client.clone().subscribe(id, after);
                    node.watchers.push((what, tokio::spawn(work)));
                }
            }
            Step::Gates => self.gates.send_modify(|gates| *gates += 1),
            Step::Pause(millis) => sleep(Duration::from_millis(millis)).await,
            Step::Freeze(node) => self.become_(node, Condition::Frozen),
            Step::Thaw(node) => self.become_(node, Condition::Up),
            Step::Crash(node) => {
                if let Some(node) = self.node(node) {
                    let calls = node.calls.drain(..).chain(node.watchers.drain(..));
                    let calls: Vec<_> = calls.inspect(|call| call.1.abort()).collect();
                    node.client.link.become_(Condition::Down);
                    finished(calls).await;
                }
                self.trouble();
            }
            Step::Leave(node) => {
                self.trouble();
                let Some(node) = self.node(node) else { return };
                node.client.link.become_(Condition::Up);
                node.client.link.trouble();
                node.client.engine.shutdown(Duration::from_millis(50)).await;
                // Callers notified of the shutdown react now.
                sleep(Duration::from_millis(50)).await;
                let calls = node.calls.drain(..).chain(node.watchers.drain(..));
                let calls: Vec<_> = calls.inspect(|call| call.1.abort()).collect();
                node.client.link.become_(Condition::Down);
                finished(calls).await;
            }
            Step::Join => self.join(),
            Step::Fail(node) => {
                self.trouble();
                let Some(node) = self.node(node) else { return };
                node.client.link.trouble();
                node.client.link.fails.store(true, Ordering::Relaxed);
            }
            Step::Slow(node) => {
                let Some(node) = self.node(node) else { return };
                node.client.link.slow.store(true, Ordering::Relaxed);
            }
            Step::Heal(node) => {
                let Some(node) = self.node(node) else { return };
                node.client.link.fails.store(false, Ordering::Relaxed);
                node.client.link.slow.store(false, Ordering::Relaxed);
            }
            Step::Sweep => self.sweep().await,
        }
    }

    fn become_(&mut self, node: usize, condition: Condition) {
        if condition != Condition::Up {
            self.trouble();
        }
        if let Some(node) = self.node(node) {
            node.client.link.become_(condition);
        }
    }

    /// Sweeps old tasks.
    async fn sweep(&self) {
        let mut sweep = Sweep::default();
        sweep.tasks = Some(Duration::from_millis(300));
        self.store.sweep(sweep).await.unwrap();
        let ids: Vec<_> = self.shared.journal.lock().tasks.keys().cloned().collect();
        for id in ids {
            let is_gone = self.store.get(&Default::default(), &id).await.unwrap().is_none();
            let mut records = self.shared.journal.lock();
            let record = records.tasks.get_mut(&id).unwrap();
            assert!(!is_gone || record.task().state().is_terminal(), "{id} was lost");
            record.is_swept = is_gone;
        }
    }

    /// Lets everything finish, and checks the results.
    pub(super) async fn end(mut self) {
        for index in self.living() {
            let link = &self.nodes[index].client.link;
            link.become_(Condition::Up);
            link.fails.store(false, Ordering::Relaxed);
            link.slow.store(false, Ordering::Relaxed);
        }
        self.gates.send_replace(u64::MAX);
        let node = self.node(0).expect("there is always another node").client.clone();
        let calls = self.nodes.iter_mut().flat_map(|node| std::mem::take(&mut node.calls));
        let calls = calls.collect();
        finished(calls).await;
        // Interrupted work continues.
        sleep(Duration::from_secs(30)).await;
        let ids: Vec<_> = self.shared.journal.lock().tasks.keys().cloned().collect();
        for id in &ids {
            if !self.shared.journal.lock().tasks[id].is_swept {
                self.check_stored(id).await;
                self.shared.journal.check_rest(id);
            }
        }
        self.check_expected();
        self.check_sent();
        self.check_lists(&node).await;
        // Remaining readers see the end.
        for id in &ids {
            let state = self.shared.journal.lock().tasks[id].task().state();
            if !state.is_terminal() {
                let limit = tokio::time::timeout(LONG, node.clone().cancel(id.clone()));
                limit.await.expect("a task can be canceled");
                let state = self.shared.journal.lock().tasks[id].task().state();
                assert_eq!(state, TaskState::Canceled, "{id} waited for its caller");
            }
        }
        let watchers = self.nodes.iter_mut().flat_map(|node| std::mem::take(&mut node.watchers));
        let watchers = watchers.collect();
        finished(watchers).await;
        self.check_lists(&node).await;
    }

    async fn check_stored(&self, id: &str) {
        let stored = self.store.get(&Default::default(), id).await.unwrap();
        let stored = stored.unwrap_or_else(|| panic!("{id} was lost"));
        let records = self.shared.journal.lock();
        assert_eq!(*stored.task, *records.tasks[id].task(), "{id} is not what was written");
        assert_eq!(stored.last_event.get(), records.tasks[id].last());
        assert!(
            stored.node.is_none() || stored.task.state() == TaskState::InputRequired,
            "{id} is held though nobody works on it"
        );
    }

    fn check_expected(&self) {
        let records = self.shared.journal.lock();
        for expected in self.shared.expected.lock().unwrap().iter() {
            let holds = match expected {
                Expected::Handled { task, message } => records.tasks[task].count(message) == 1,
                Expected::HandledOrEnded { task, message } => {
                    let record = &records.tasks[task];
                    record.count(message) == 1
                        || record.task().state().is_terminal()
                        || self.shared.troubled.load(Ordering::Relaxed)
                }
                Expected::NotHandled { message } => {
                    records.tasks.values().all(|record| record.count(message) == 0)
                }
                Expected::Ended { task } => {
                    // A cancel may be lost with its node.
                    records.tasks[task].task().state().is_terminal() || self.canceled.contains(task)
                }
                Expected::Canceled { task } => {
                    records.tasks[task].task().state() == TaskState::Canceled
                }
            };
            assert!(holds, "{expected:?}");
        }
    }

    /// Checks that no message was handled twice.
    fn check_sent(&self) {
        let records = self.shared.journal.lock();
        for message in &self.sent {
            // A retry after a sweep creates a new task.
            let kept = records.tasks.values().filter(|record| !record.is_swept);
            let counts = kept.map(|record| record.count(message));
            assert!(counts.clone().all(|count| count <= 1), "{message} was handled twice");
            assert!(counts.sum::<usize>() <= 1, "{message} made two tasks");
        }
    }

    async fn check_lists(&self, node: &Client) {
        for state in [None].into_iter().chain((1..=8).map(Some)) {
            let (ids, total) = node.clone().list(3, state).await.expect("nothing fails any more");
            let records = self.shared.journal.lock();
            let expected: BTreeSet<_> = records
                .tasks
                .iter()
                .filter(|(_, record)| !record.is_swept)
                .filter(|(_, record)| {
                    state.is_none_or(|state| i32::from(record.task().state()) == state)
                })
                .map(|(id, _)| id)
                .collect();
            assert_eq!(ids.len(), expected.len(), "a list has a task twice, or not at all");
            assert_eq!(ids.iter().collect::<BTreeSet<_>>(), expected);
            assert_eq!(usize::try_from(total).unwrap(), expected.len());
        }
    }
}

/// Waits for calls, which must not hang or panic.
async fn finished(calls: Vec<Waiting>) {
    let deadline = Instant::now() + LONG;
    for (what, call) in calls {
        match tokio::time::timeout_at(deadline, call).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Ok(Err(_aborted)) => {}
            Err(_elapsed) => panic!("this waits for ever: {what}"),
        }
    }
}
