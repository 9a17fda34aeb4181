//! A model test: the store against a trivial reference.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, SystemTime},
};

use a2a_core::{
    TaskState,
    v1::{Task, stream_response::Payload},
    well_known::Timestamp,
};
use bytes::Bytes;

use super::fixtures::{
    at, changed, chunk, command, positions, post, replayed, scope, shown, status, task, transition,
    waiting, webhook, with_events,
};
use a2a_kit_operations::{
    Event, Scope, Store,
    store::{
        Acquired, Claim, DeadLetterQuery, DeliveryKey, DeliveryOutcome, LeaseUpdate, PageKey,
        StoreError, Sweep, TaskQuery,
    },
};

/// Number of steps by default.
const STEPS: u32 = 400;
const STATES: [TaskState; 6] = [
    TaskState::Submitted,
    TaskState::Working,
    TaskState::InputRequired,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
];

/// Applies random operations on tasks, leases, commands, keys and webhooks, and compares the store
/// with a list that is searched for each query. `PROPTEST_CASES` raises the number of steps, four
/// for each case.
pub async fn store_matches_the_reference_model(store: Arc<dyn Store>) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = now.map_or(1, |now| u64::from(now.subsec_nanos())) | 1;
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    let steps = cases.map_or(STEPS, |cases| cases.saturating_mul(4).max(STEPS));
    let mut model = Model {
        store,
        seed,
        trail: Vec::new(),
        tasks: Vec::new(),
        keys: HashMap::new(),
        answers: HashMap::new(),
        dead: 0,
        number: 0,
    };
    for _ in 0..steps {
        model.step().await;
    }
}

/// A task and all of its writes.
#[derive(Debug)]
struct Known {
    scope: Scope,
    task: Task,
    version: u64,
    epoch: u64,
    is_held: bool,
    is_abandoned: bool,
    /// The checkpoint and its epoch.
    checkpoint: (Bytes, u64),
    events: Vec<Event>,
    commands: Vec<String>,
    hooks: BTreeMap<String, Hook>,
}

/// The state of a webhook.
#[derive(Debug, Default)]
struct Hook {
    waiting: Vec<u64>,
    attempts: u32,
    claim: Option<DeliveryKey>,
}

struct Model {
    store: Arc<dyn Store>,
    seed: u64,
    /// The steps so far, for debugging.
    trail: Vec<String>,
    tasks: Vec<Known>,
    keys: HashMap<(Scope, String), (String, u64)>,
    answers: HashMap<String, Bytes>,
    dead: usize,
    number: u64,
}

impl Known {
    fn last(&self) -> u64 {
        self.events.len() as u64
    }

    fn let_go(&mut self) {
        self.is_held = false;
        self.is_abandoned = false;
        self.checkpoint = (Bytes::new(), 0);
    }
}

impl Model {
    /// A number below `bound`, by xorshift.
    fn below(&mut self, bound: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % bound
    }

    fn one_of<T: Clone>(&mut self, choice: &[T]) -> T {
        let number = usize::try_from(self.below(choice.len() as u64)).unwrap_or_default();
        choice[number].clone()
    }

    fn fresh(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}{}", self.number)
    }

    fn scope(&mut self) -> Scope {
        scope(self.one_of(&["ann", "bob"]))
    }

    fn context(&mut self) -> &'static str {
        self.one_of(&["", "one", "two"])
    }

    fn millis(&mut self) -> i64 {
        self.one_of(&[-1, 0, 1, 2, 3])
    }

    /// Removes a random matching task from the list; the caller puts it back.
    fn any(&mut self, is_wanted: impl Fn(&Known) -> bool) -> Option<Known> {
        let wanted: Vec<_> =
            (0..self.tasks.len()).filter(|at| is_wanted(&self.tasks[*at])).collect();
        (!wanted.is_empty()).then(|| {
            let at = self.one_of(&wanted);
            self.tasks.swap_remove(at)
        })
    }

    async fn step(&mut self) {
        let step = self.below(16);
        let lives = |known: &Known| !known.task.state().is_terminal();
        match step {
            0..=2 => return self.insert().await,
            12 => return self.list().await,
            13 => return self.claim().await,
            14 => return self.deliver().await,
            15 if self.below(4) == 0 => return self.sweep().await,
            15 => return self.take_over().await,
            _ => {}
        }
        let Some(mut known) = self.any(|known| lives(known) || step == 3) else { return };
        let trail = format!("{step} of {} in epoch {}", known.task.id, known.epoch);
        self.trail.push(trail);
        match step {
            3 => self.read(&known).await,
            4..=6 => self.commit(&mut known).await,
            7 => self.acquire(&mut known).await,
            8 => self.release(&mut known).await,
            9 => self.abandon(&mut known).await,
            10 => self.post(&mut known).await,
            _ => self.hook(&mut known).await,
        }
        self.tasks.push(known);
    }

    async fn insert(&mut self) {
        let (scope, context, millis) = (self.scope(), self.context(), self.millis());
        let (state, is_held) = (self.one_of(&STATES), self.below(2) == 0);
        let is_held = is_held && !state.is_terminal();
        let id = match self.below(8) {
            0 => self.tasks.first().map_or("first".to_owned(), |known| known.task.id.clone()),
            _ => self.fresh("task"),
        };
        self.trail.push(format!("insert {id} as {state:?}"));
        let task = task(&id, context, state, millis);
        let events = vec![shown(1, &task)];
        let is_pushed = self.below(2) == 0;
        let checkpoint = is_held.then(|| Bytes::from_static(b"work"));
        let new = with_events(&task, events.clone())
            .with_pushes(if is_pushed { vec![at(1)] } else { Vec::new() })
            .with_webhooks([webhook(&id, "first")])
            .with_checkpoint(checkpoint.clone());
        let inserted = self.store.insert(&scope, new).await;
        if self.tasks.iter().any(|known| known.task.id == id) {
            assert!(matches!(inserted, Err(StoreError::Conflict { .. })), "{inserted:?}");
            return;
        }
        assert_eq!(inserted.expect("the id is free").has_pushes, is_pushed);
        let waiting = if is_pushed { vec![1] } else { Vec::new() };
        let hook = Hook { waiting, ..Hook::default() };
        self.tasks.push(Known {
            scope,
            task,
            version: 1,
            epoch: 1,
            is_held,
            is_abandoned: false,
            checkpoint: checkpoint.map_or((Bytes::new(), 0), |checkpoint| (checkpoint, 1)),
            events,
            commands: Vec::new(),
            hooks: BTreeMap::from([("first".to_owned(), hook)]),
        });
    }

    async fn read(&mut self, known: &Known) {
        let (scope, id) = (&known.scope, &known.task.id);
        let stored = self.store.get(scope, id).await.expect("the store succeeds");
        let stored = stored.expect("the task exists");
        assert_eq!(*stored.task, known.task);
        assert_eq!((stored.version, stored.epoch), (known.version, known.epoch));
        assert_eq!(stored.last_event, at(known.last()));
        let node = known.is_held.then(|| self.store.node());
        assert_eq!(stored.node.as_deref(), node, "holder of {id}");
        let other = if scope.owner.starts_with('a') { "bob" } else { "ann" };
        let hidden = self.store.get(&super::fixtures::scope(other), id).await;
        assert!(hidden.expect("the store succeeds").is_none());
        let after = 1 + self.below(known.last());
        let events = replayed(&*self.store, scope, id, after).await;
        assert_eq!(positions(&events), (after + 1..=known.last()).collect::<Vec<_>>());
        for (event, expected) in
            events.iter().zip(known.events.iter().filter(|event| event.id() > Some(at(after))))
        {
            assert_eq!(event.response(), expected.response());
        }
        assert_eq!(waiting(&*self.store, id).await, known.commands);
        let configs = self.store.configs(scope, id).await.expect("the store succeeds");
        let configs: Vec<_> = configs.into_iter().map(|webhook| webhook.config.id).collect();
        assert_eq!(configs, known.hooks.keys().cloned().collect::<Vec<_>>());
    }

    async fn commit(&mut self, known: &mut Known) {
        let mut task = known.task.clone();
        let next = known.last() + 1;
        let is_chunk = self.below(2) == 0;
        let events: Vec<_> = if is_chunk {
            let count = 1 + self.below(4);
            (next..next + count).map(|position| chunk(position, &task.id, "x")).collect()
        } else {
            task.status = Some(status(self.one_of(&STATES), self.millis()));
            vec![changed(next, &task)]
        };
        for event in &events {
            if let Some(Payload::ArtifactUpdate(update)) = event.payload() {
                task.apply_artifact(update);
            }
        }
        let ends = task.state().is_terminal();
        let lease = match self.below(4) {
            _ if ends => LeaseUpdate::Release,
            0 if known.is_held => LeaseUpdate::Checkpoint(self.fresh("work").into()),
            1 if known.commands.is_empty() => LeaseUpdate::Release,
            _ => LeaseUpdate::Keep,
        };
        let is_pushed = self.below(2) == 0;
        let pushes: Vec<_> = events.iter().filter_map(Event::id).filter(|_| is_pushed).collect();
        let answered = if ends { known.commands.clone() } else { Vec::new() };
        let wrong = self.below(8);
        let version = known.version - u64::from(wrong == 0);
        let epoch = known.epoch + u64::from(wrong == 1);
        let answer = |id: &String| (id.as_str().into(), Bytes::from_static(b"ended"));
        let transition = transition(&task.id, version, epoch, events.clone())
            .with_snapshot((!is_chunk).then(|| Arc::new(task.clone())))
            .with_pushes(pushes.clone())
            .with_lease(lease.clone())
            .with_answers(answered.iter().map(answer).collect::<Vec<_>>());
        let written = self.store.commit(&known.scope, transition).await;
        if wrong < 2 {
            assert!(matches!(written, Err(StoreError::Conflict { .. })), "{written:?}");
            return;
        }
        let has_pushes = written.expect("version and epoch are right").has_pushes;
        assert!(has_pushes || pushes.is_empty() || known.hooks.is_empty());
        known.task = task;
        known.version += 1;
        known.events.extend(events);
        for hook in known.hooks.values_mut() {
            hook.waiting.extend(pushes.iter().map(|position| position.get()));
        }
        match lease {
            LeaseUpdate::Keep => {}
            LeaseUpdate::Checkpoint(checkpoint) => known.checkpoint = (checkpoint, known.epoch),
            LeaseUpdate::Release => known.let_go(),
        }
        known.commands.retain(|id| !answered.contains(id));
        for id in answered {
            self.answers.insert(id, Bytes::from_static(b"ended"));
        }
    }

    async fn acquire(&mut self, known: &mut Known) {
        // An expired lease is only taken over.
        if known.is_abandoned {
            return;
        }
        let acquired = self.store.acquire(&known.scope, &known.task.id).await;
        let stored = match acquired.expect("the store succeeds") {
            Some(Acquired::Here(stored)) => {
                assert!(
                    known.checkpoint.0.is_empty(),
                    "it was checkpoint_epoch what was worked on"
                );
                stored
            }
            Some(Acquired::Reacquired(orphan)) => {
                assert_eq!((orphan.checkpoint, orphan.checkpoint_epoch), known.checkpoint);
                orphan.stored
            }
            other => panic!("unexpected result: {other:?}"),
        };
        known.epoch += 1;
        known.is_held = true;
        assert_eq!((stored.version, stored.epoch), (known.version, known.epoch));
        assert_eq!(*stored.task, known.task);
    }

    async fn release(&mut self, known: &mut Known) {
        let is_late = self.below(4) == 0;
        let epoch = known.epoch - u64::from(is_late);
        let released = self.store.release(&known.task.id, epoch).await.expect("the store succeeds");
        let counts = known.is_held && !is_late;
        assert_eq!(released, !counts || known.commands.is_empty());
        if counts && released {
            known.let_go();
        }
    }

    async fn abandon(&mut self, known: &mut Known) {
        let is_late = self.below(4) == 0;
        let epoch = known.epoch - u64::from(is_late);
        self.store.abandon(&known.task.id, epoch).await.expect("the store succeeds");
        known.is_abandoned |= known.is_held && !is_late;
    }

    async fn take_over(&mut self) {
        self.trail.push("take over".to_owned());
        let orphans = self.store.take_over(1_000).await.expect("the store succeeds");
        let mut taken: Vec<_> =
            orphans.iter().map(|orphan| orphan.stored.task.id.clone()).collect();
        taken.sort();
        let abandoned = self.tasks.iter().filter(|known| known.is_abandoned);
        let mut expected: Vec<_> = abandoned.map(|known| known.task.id.clone()).collect();
        expected.sort();
        assert_eq!(taken, expected);
        for orphan in orphans {
            let of = |known: &&mut Known| known.task.id == orphan.stored.task.id;
            let known = self.tasks.iter_mut().find(of).expect("it was just found");
            known.epoch += 1;
            known.is_abandoned = false;
            assert_eq!(orphan.scope, known.scope);
            assert_eq!(*orphan.stored.task, known.task);
            assert_eq!((orphan.stored.version, orphan.stored.epoch), (known.version, known.epoch));
            assert_eq!(orphan.checkpoint, known.checkpoint.0);
            if !known.checkpoint.0.is_empty() {
                assert_eq!(orphan.checkpoint_epoch, known.checkpoint.1);
            }
        }
    }

    async fn post(&mut self, known: &mut Known) {
        if let Some(id) = known.commands.first().cloned().filter(|_| self.seed.is_multiple_of(2)) {
            let answer = Bytes::from_static(b"done");
            self.store.answer_command(&id, answer.clone()).await.expect("the store succeeds");
            known.commands.remove(0);
            let taken = self.store.read_answer(&id).await.expect("the store succeeds");
            assert_eq!(taken, Some(answer));
            return;
        }
        let id = self.fresh("command");
        let posted = post(&*self.store, &known.scope, &known.task.id, &id).await;
        assert_eq!(posted, known.is_held, "a command for {}", known.task.id);
        if posted {
            assert_eq!(&*command(&id).id, id);
            known.commands.push(id);
        }
        let answered = self.answers.keys().next().cloned();
        if let Some(id) = answered {
            let taken = self.store.read_answer(&id).await.expect("the store succeeds");
            assert_eq!(taken, self.answers.remove(&id));
        }
    }

    async fn hook(&mut self, known: &mut Known) {
        let id = self.one_of(&["first", "second"]).to_owned();
        if self.below(3) == 0 {
            let deleted = self.store.delete_config(&known.scope, &known.task.id, &id).await;
            deleted.expect("the store succeeds");
            known.hooks.remove(&id);
        } else {
            let webhook = webhook(&known.task.id, &id);
            self.store.put_config(&known.scope, webhook).await.expect("the store succeeds");
            known.hooks.entry(id).or_default();
        }
    }

    /// Claims all due webhooks, and records an outcome for each.
    async fn deliver(&mut self) {
        self.trail.push("deliver".to_owned());
        // An immediate retry may be due a moment later.
        some_time().await;
        let due = self.store.claim_deliveries(1_000).await.expect("the store succeeds").deliveries;
        let wait = |hook: &&Hook| hook.claim.is_none() && !hook.waiting.is_empty();
        let hooks = self.tasks.iter().flat_map(|known| known.hooks.values());
        assert_eq!(due.len(), hooks.filter(wait).count(), "{due:?}");
        for push in due {
            let said = self.below(4);
            let key = push.key.clone();
            let of = |known: &&mut Known| *known.task.id == *key.task_id;
            let known = self.tasks.iter_mut().find(of).expect("the task is known");
            let hook = known.hooks.get_mut(&*key.config_id).expect("the webhook is known");
            assert!(hook.claim.is_none(), "claimed twice");
            let events = positions(&push.events);
            assert!(!events.is_empty() && hook.waiting.starts_with(&events), "{events:?}");
            assert_eq!(push.attempts, hook.attempts);
            assert_eq!(*push.task, known.task);
            let event = at(events[0]);
            let outcome = match said {
                0 => {
                    hook.attempts += 1;
                    DeliveryOutcome::Retry { event, after: Duration::ZERO }
                }
                1 => DeliveryOutcome::Released,
                2 => {
                    self.dead += 1;
                    DeliveryOutcome::DeadLetter { event, error: "refused".to_owned() }
                }
                _ => DeliveryOutcome::Delivered(event),
            };
            let holds =
                self.store.record_delivery(&key, outcome).await.expect("the store succeeds");
            if said >= 2 {
                hook.waiting.remove(0);
                hook.attempts = 0;
                if !hook.waiting.is_empty() {
                    assert!(holds, "the claim continues");
                    let given_back =
                        self.store.record_delivery(&key, DeliveryOutcome::Released).await;
                    given_back.expect("the store succeeds");
                }
            }
            let late = self.store.record_delivery(&key, DeliveryOutcome::Delivered(event)).await;
            assert!(!late.expect("the store succeeds"), "the claim has ended");
        }
        let dead = self
            .store
            .dead_letters(&DeadLetterQuery::newest(10_000))
            .await
            .expect("the store succeeds");
        assert_eq!(dead.len(), self.dead);
    }

    async fn claim(&mut self) {
        let scope = self.scope();
        let (key, task_id) = (self.one_of(&["a", "b", "c"]).to_owned(), self.fresh("task"));
        let fingerprint = self.seed;
        let at = (scope.clone(), key.clone());
        if self.below(4) == 0 {
            let tied = self.keys.remove(&at).map(|(task_id, _)| task_id);
            let task_id = tied.unwrap_or_default();
            self.store.release_key(&scope, &key, &task_id).await.expect("the store succeeds");
            return;
        }
        let claim = self.store.claim_key(&scope, &key, fingerprint, &task_id).await;
        let expected = match self.keys.get(&at) {
            Some((task_id, fingerprint)) => {
                Claim::Known { task_id: task_id.clone(), fingerprint: *fingerprint }
            }
            None => Claim::New,
        };
        assert_eq!(claim.expect("the store succeeds"), expected);
        self.keys.entry(at).or_insert((task_id, fingerprint));
    }

    async fn list(&mut self) {
        let scope = self.scope();
        let query = TaskQuery::default()
            .with_context_id((self.below(2) == 0).then(|| self.context().to_owned()))
            .with_state((self.below(2) == 0).then(|| self.one_of(&STATES)))
            .with_since((self.below(4) == 0).then(|| Timestamp::from_millis(self.millis())))
            .with_after((self.below(2) == 0).then(|| {
                let number = self.below(self.number + 1);
                PageKey::new(self.millis(), format!("task{number}"))
            }))
            .with_limit(self.one_of(&[0, 1, 3, 50]));
        self.trail.push(format!("list {query:?}"));
        let page = self.store.list(&scope, &query).await.expect("the store succeeds");
        let order = |task: &Task| (PageKey::millis_of(task), task.id.clone());
        let mut tasks: Vec<&Task> = self
            .tasks
            .iter()
            .filter(|known| known.scope == scope)
            .map(|known| &known.task)
            .filter(|task| query.context_id.as_ref().is_none_or(|id| *id == task.context_id))
            .filter(|task| query.state.is_none_or(|state| state == task.state()))
            .filter(|task| {
                query.since.is_none_or(|since| PageKey::millis_of(task) >= since.as_millis())
            })
            .collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(order(task)));
        assert_eq!(page.total, tasks.len());
        if let Some(after) = &query.after {
            tasks.retain(|task| order(task) < (after.millis, after.task_id.clone()));
        }
        assert_eq!(page.has_more, tasks.len() > query.limit);
        tasks.truncate(query.limit);
        assert_eq!(page.tasks.iter().map(|task| &**task).collect::<Vec<_>>(), tasks);
    }

    async fn sweep(&mut self) {
        self.trail.push("sweep".to_owned());
        some_time().await;
        let sweep = Sweep::default().with_tasks(Duration::ZERO);
        let swept = self.store.sweep(sweep).await.expect("the store succeeds");
        let before = self.tasks.len();
        self.tasks.retain(|known| !known.task.state().is_terminal());
        assert_eq!(swept.len(), before - self.tasks.len());
    }
}

impl Drop for Model {
    #[expect(clippy::print_stderr, reason = "a test that fails says how")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last = self.trail.len().saturating_sub(30);
            eprintln!("last steps, with seed {}: {:#?}", self.seed, &self.trail[last..]);
        }
    }
}

/// Waits until everything is older than zero, for stores with millisecond clocks.
async fn some_time() {
    tokio::time::sleep(Duration::from_millis(3)).await;
}
