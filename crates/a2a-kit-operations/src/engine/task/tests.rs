//! A table of what every input does in every state: `transitions.txt`. With `BLESS=1` in the
//! environment the current behaviour becomes the table, to be reviewed.

use std::{
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use a2a_core::{
    Artifact, TaskState,
    v1::{
        Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent,
        stream_response::Payload,
    },
    well_known::Timestamp,
};

use super::{
    AdmissionLimits, CancelRequest, Confirmation, Creation, Effects, Failure, Group, Holder,
    LiveTask, Log, Now, Opening, Response, RunEnd, Sender, SentTurn, TurnRequest,
    ownership::Reconciliation, run::RunSummary,
};
use crate::{
    CallContext, Event, EventId, TaskLimits, UpdateError,
    store::{Replay, StoredTask},
};

const TABLE: &str = include_str!("transitions.txt");

/// A task and its surroundings.
struct Fixture {
    live: LiveTask,
    /// A write that the store has not answered yet.
    group: Option<Group>,
    now: Now,
}

type State = (&'static str, fn() -> Fixture);
type Input = (&'static str, fn(&mut Fixture) -> String);

const STATES: &[State] = &[
    ("new", draft),
    ("inserting", || draft().update().writing()),
    ("working", working),
    ("writing", || working().update().writing()),
    ("asking", || working().ask().written()),
    ("queued", || working().message("second")),
    ("kept", || working().kept_message("second")),
    ("canceling", || working().cancel()),
    ("ending", || working().complete().writing()),
    ("waiting", || working().ask().written().dropped().written()),
    ("resuming", || working().ask().written().dropped().written().message("second").written()),
    ("ended", || working().complete().written().returned()),
    ("replied", || draft().reply().returned()),
    ("elsewhere", || working().lost()),
    ("unleased", || working().lost().released()),
    ("taken over", || working().lost().released().acquired()),
    ("failed", || working().update().writing().not_stored()),
    ("lost while writing", || working().update().writing().lost().acquired()),
];

const INPUTS: &[Input] = &[
    ("message", |b| b.take("next", Sender::Waits)),
    ("message, return immediately", |b| b.take("next", Sender::Leaves)),
    ("acknowledged message", |b| b.take("next", Sender::HasLeft)),
    ("first message again", |b| b.take("first", Sender::Waits)),
    ("update: working", |b| b.put(status(TaskState::Working))),
    ("update: artifact", |b| b.put(chunk())),
    ("update: completed", |b| b.put(status(TaskState::Completed))),
    ("update too large", Fixture::put_too_much),
    ("update of a stale run", |b| {
        let generation = b.live.ownership.generation + 1;
        result(b.put_as(generation, chunk()))
    }),
    ("reply", |b| {
        let reply = b.live.reply(b.live.ownership.generation, &message("re"));
        result(reply.map(|asked| asked.is_some()))
    }),
    ("ask", |b| result(b.put_question())),
    ("record a result", |b| {
        let (generation, limits) = (b.live.ownership.generation, TaskLimits::default());
        result(b.live.record(generation, "name", 1.into(), &limits, b.now))
    }),
    ("recall a result", |b| format!("{:?}", b.live.journal.recall("name"))),
    ("waited for too long", |b| b.apply(|live, now| live.ask_expired(now))),
    ("poll for the answer", |b| match b.live.asked(b.live.ownership.generation) {
        Some(Ok(message)) => format!("message {}", message.message_id),
        Some(Err(error)) => error_name(&error),
        None => "wait".to_owned(),
    }),
    ("stop asking", |b| b.apply(|live, _| live.stop_asking(live.ownership.generation))),
    ("silence", |b| b.apply(|live, _| live.silent(live.ownership.generation))),
    ("executor returns", |b| b.end(RunEnd::Returned, false)),
    ("executor fails", |b| b.end(RunEnd::Failed("why".to_owned()), false)),
    ("executor dropped", |b| b.end(RunEnd::Dropped, false)),
    ("executor dropped at shutdown", |b| b.end(RunEnd::Dropped, true)),
    ("cancel", |b| format!("{:?}", b.live.cancel(cancel(), None, b.now)).to_lowercase()),
    ("force cancel", |b| b.apply(|live, now| live.force_cancel(now))),
    ("cancel unnoticed", |b| b.live.cancel_unnoticed(b.now).to_string()),
    ("drop the executor", |b| b.apply(|live, _| live.drop_executor())),
    ("drop an asking executor", |b| b.apply(|live, _| live.drop_asking())),
    ("advance the writer", Fixture::advance_writer),
    ("stored", Fixture::store),
    ("store failed", |b| b.fail(Failure::Unavailable)),
    ("store full", |b| b.fail(Failure::Full)),
    ("key taken over", |b| b.fail(Failure::Superseded("other".into()))),
    ("write conflicts", |b| b.live.conflicted(b.live.ownership.generation).to_string()),
    ("lost to another node", |b| b.apply(|live, _| live.lose(Holder::Elsewhere))),
    ("lease lost", |b| b.live.lose_lease(Some(b.live.ownership.epoch)).to_string()),
    ("lease expired", |b| format!("{:?}", b.live.expire_lease(|_| true))),
    ("request the lease", |b| format!("{:?}", b.live.request_lease())),
    ("acquired", |b| b.acquire(false)),
    ("taken over", |b| b.acquire(true)),
    ("rerun", |b| b.apply(|live, now| live.rerun(now.instant))),
    ("commands posted", |b| b.reconcile(|live| live.notice_commands())),
    ("lease wanted", |b| b.reconcile(|live| _ = live.request_lease())),
    ("lease not needed", |b| b.reconcile(|live| live.release_if_idle())),
    ("begin release", |b| match b.live.begin_release() {
        Some((epoch, unfinished)) => format!("epoch {epoch}, unfinished {unfinished}"),
        None => "kept".to_owned(),
    }),
    ("released", |b| b.apply(|live, _| live.released(live.ownership.epoch))),
    ("lease due", |b| format!("{:?}", b.live.leased())),
    ("remote chunk", |b| b.remote(chunk())),
    ("remote status", |b| b.remote(status(TaskState::Completed))),
    ("read the same version", |b| b.read(0)),
    ("read a newer version", |b| b.read(1)),
    ("removed from the store", |b| b.apply(|live, _| live.removed())),
    ("respond", |b| b.respond(SentTurn::Here(b.live.turns.current), false)),
    ("respond at once", |b| b.respond(SentTurn::Here(b.live.turns.current), true)),
    ("respond to a retry", |b| b.respond(SentTurn::Here(0), false)),
    ("respond to the next message", |b| b.respond(SentTurn::Here(2), false)),
    ("respond to it at once", |b| b.respond(SentTurn::Here(2), true)),
    ("respond from elsewhere", |b| b.respond(SentTurn::Elsewhere(2), false)),
    ("open a stream", |b| b.open(b.live.turns.current)),
    ("open a stream of a retry", |b| b.open(0)),
    ("open one of the next message", |b| b.open(2)),
    ("route the next message", |b| format!("{:?}", b.live.reception(&turn("next")))),
    ("command", |b| {
        b.live.take_command(b.live.ownership.generation, &"command".into(), false).to_string()
    }),
    ("cancel command", |b| {
        b.live.take_command(b.live.ownership.generation, &"command".into(), true).to_string()
    }),
];

#[test]
#[expect(clippy::print_stdout, reason = "the table is read by people")]
fn transitions_match_the_table() {
    let mut table = String::new();
    for (state, make) in STATES {
        let fixture = make();
        let before = describe(&fixture.live);
        let _ = writeln!(table, "\n{state}: {}", before.join(", "));
        for (input, apply) in INPUTS {
            let mut fixture = make();
            let invariants = Invariants::of(&fixture.live);
            let result = apply(&mut fixture);
            invariants.check(&fixture.live, &format!("{state}, {input}"));
            let after = describe(&fixture.live);
            let changed: Vec<_> =
                after.iter().filter(|value| !before.contains(value)).map(String::as_str).collect();
            let changed = if changed.is_empty() { "-".to_owned() } else { changed.join(", ") };
            let _ = writeln!(table, "    {input:28} | {result:24} | {changed}");
        }
    }
    println!("{table}");
    if std::env::var_os("BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/engine/task/transitions.txt");
        std::fs::write(path, &table).unwrap();
        return;
    }
    let differs = |(is, was): &(&str, &str)| is != was;
    if let Some((is, was)) = table.lines().zip(TABLE.lines()).find(differs) {
        panic!(
            "expected
{was}
actual
{is}"
        );
    }
    assert_eq!(table.lines().count(), TABLE.lines().count());
}

/// Invariants that no input may violate.
struct Invariants {
    task: Arc<Task>,
    last: u64,
    is_stored: bool,
    generation: u64,
}

impl Invariants {
    fn of(live: &LiveTask) -> Self {
        let (task, last) = (Arc::clone(&live.task), live.log.last());
        Self { task, last, is_stored: live.is_stored(), generation: live.ownership.generation }
    }

    fn check(&self, live: &LiveTask, what: &str) {
        if self.task.state().is_terminal() {
            assert_eq!(self.task, live.task, "{what}: a terminal task changed");
        }
        assert!(live.log.last() >= self.last, "{what}: visible events disappeared");
        assert!(live.is_stored() || !self.is_stored, "{what}: a stored task became unstored");
        assert!(live.ownership.generation >= self.generation, "{what}");
        let unseen = live.unseen().count();
        let may_write = live.is_here() || live.persistence.has_failed();
        assert!(unseen == 0 || may_write, "{what}: pending changes without the lease");
        assert!(live.changes.last >= live.log.last(), "{what}: positions went backward");
        if unseen == 0 && !live.persistence.has_failed() {
            assert_eq!(
                live.changes.head,
                live.task.state(),
                "{what}: head differs without pending changes"
            );
        }
    }
}

fn describe(live: &LiveTask) -> Vec<String> {
    let name = |state: TaskState| state.as_str_name().replace("TASK_STATE_", "").to_lowercase();
    let mut all = vec![
        format!(
            "visible {}",
            if live.is_stored() { name(live.task.state()) } else { "none".into() }
        ),
        format!("head {}", name(live.changes.head)),
        format!("event {} of {}", live.log.last(), live.changes.last),
        format!("pending {}", live.changes.pending.len()),
        format!("turn {} from {}", live.turns.current, live.turns.start),
        format!("queue {}", live.turns.queue.len()),
        format!("run {}", RunSummary(&live.run)),
        format!("holder {:?}", live.ownership.holder).to_lowercase(),
        format!("epoch {} generation {}", live.ownership.epoch, live.ownership.generation),
        format!("version {}", live.persistence.version),
    ];
    if let Some(failure) = live.persistence.failure() {
        all.push(format!("store failed: {failure:?}"));
    } else {
        let writing = live.persistence.being_written().len();
        let is_writing = live.persistence.is_writing();
        all.push(if is_writing { format!("store writing {writing}") } else { "store idle".into() });
    }
    if live.reply.is_some() {
        all.push("reply".to_owned());
    }
    for (flag, effect) in [
        (live.journal.is_asking(), "question open"),
        (live.journal.is_replaying(), "replaying"),
        (live.effects.begin, "effect begin"),
        (live.effects.cancel.is_some(), "effect cancel"),
        (live.effects.drop, "effect drop"),
        (live.effects.run.is_some(), "effect run"),
        (live.effects.refresh, "effect refresh"),
        (live.effects.wake_outbox, "effect wake outbox"),
        (!live.effects.answers.is_empty(), "effect answer"),
        (live.has_to_write(), "effect write"),
        (live.has_to_reconcile(), "effect reconcile"),
    ] {
        all.extend(flag.then(|| effect.to_owned()));
    }
    all
}

fn result<T: std::fmt::Debug>(result: Result<T, UpdateError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => error_name(&error),
    }
}

fn error_name(error: &UpdateError) -> String {
    format!("rejected: {error:?}")
}

fn status(state: TaskState) -> Payload {
    let status = Some(TaskStatus { state: state.into(), ..TaskStatus::default() });
    Payload::StatusUpdate(TaskStatusUpdateEvent { status, ..TaskStatusUpdateEvent::default() })
}

fn chunk() -> Payload {
    let artifact = Some(Artifact::new("a", "text").with_id("a"));
    Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
        artifact,
        append: true,
        ..Default::default()
    })
}

fn message(id: &str) -> Message {
    Message { message_id: id.to_owned(), ..Message::user(id) }
}

fn turn(id: &str) -> TurnRequest {
    TurnRequest {
        message: Arc::new(message(id)),
        call: Arc::new(CallContext::default()),
        accepted_output_modes: Arc::default(),
        metadata: None,
        streams: true,
        key: Some("key".into()),
        joins_from: Some(0),
        rerun: false,
        is_lost: false,
        commands: Vec::new(),
    }
}

fn draft() -> Fixture {
    let status = Some(TaskStatus { state: TaskState::Submitted.into(), ..Default::default() });
    let history = vec![message("first")];
    let task = Task { id: "t".to_owned(), status, history, ..Task::default() };
    let live = LiveTask::draft(task, Log::new(0, 100, usize::MAX));
    let now = Now { instant: Instant::now(), time: Timestamp::from_millis(0) };
    let mut fixture = Fixture { live, group: None, now };
    let creation = Creation { is_streamed: true, ..Creation::default() };
    fixture.live.begin(turn("first"), creation, true, fixture.now.instant);
    fixture.acknowledged()
}

fn cancel() -> CancelRequest {
    CancelRequest { context: Arc::default(), metadata: None }
}

fn working() -> Fixture {
    draft().update().written()
}

impl Fixture {
    fn apply(&mut self, input: impl FnOnce(&mut LiveTask, Now)) -> String {
        input(&mut self.live, self.now);
        String::new()
    }

    fn put_as(&mut self, generation: u64, payload: Payload) -> Result<u64, UpdateError> {
        self.live.update(generation, Event::of(payload), &TaskLimits::default(), self.now)
    }

    fn put(&mut self, payload: Payload) -> String {
        result(self.put_as(self.live.ownership.generation, payload))
    }

    fn put_too_much(&mut self) -> String {
        let limits = TaskLimits::default().with_max_artifact_bytes(1);
        let generation = self.live.ownership.generation;
        result(self.live.update(generation, Event::of(chunk()), &limits, self.now))
    }

    fn put_question(&mut self) -> Result<u64, UpdateError> {
        let question = status(TaskState::InputRequired);
        let (generation, limits) = (self.live.ownership.generation, TaskLimits::default());
        self.live.ask(generation, Event::of(question), &limits, self.now)
    }

    fn take(&mut self, id: &str, sender: Sender) -> String {
        self.take_turn(turn(id), sender)
    }

    fn take_turn(&mut self, turn: TurnRequest, sender: Sender) -> String {
        let limits = TaskLimits::default();
        let limits = AdmissionLimits { task: &limits, max_queued: 2, may_run: true };
        match self.live.take(turn, sender, limits, self.now) {
            Ok(ticket) => format!("ticket {ticket}"),
            Err(refusal) => format!("rejected: {refusal:?}"),
        }
    }

    fn respond(&self, turn: SentTurn, at_once: bool) -> String {
        match self.live.response(turn, at_once) {
            None => "wait".to_owned(),
            Some(Ok(Response::Reply(_))) => "reply".to_owned(),
            Some(Ok(Response::Task(task))) => format!("task, {}", task.state().as_str_name()),
            Some(Ok(response)) => format!("{response:?}"),
            Some(Err(error)) => format!("error: {}", error.message()),
        }
    }

    fn open(&self, ticket: u64) -> String {
        match self.live.opening(ticket, true) {
            None => "wait".to_owned(),
            Some(Ok(Opening::At(_, start))) => format!("task at {start}"),
            Some(Ok(opening)) => format!("{opening:?}"),
            Some(Err(error)) => format!("error: {}", error.message()),
        }
    }

    fn end(&mut self, ended: RunEnd, stops: bool) -> String {
        let generation = self.live.ownership.generation;
        match self.live.end_run(generation, ended, stops, self.now) {
            Some(turn) => format!("run {}", turn.message.message_id),
            None => String::new(),
        }
    }

    /// Advances the writer, which waits for the store while there is a group.
    fn advance_writer(&mut self) -> String {
        if self.group.is_some() {
            return "waits".to_owned();
        }
        self.group = self.live.next_group().map(|group| *group);
        match &self.group {
            Some(group) => format!("{} events to store", group.events().count()),
            None => "done".to_owned(),
        }
    }

    fn store(&mut self) -> String {
        match self.group.take() {
            Some(group) => {
                let begun = Some(self.now.instant);
                let confirmation = Confirmation { begun, has_pushes: true, is_shared: true };
                match self.live.stored(group, confirmation) {
                    Some(states) => format!("{} states", states.len()),
                    None => "stale".to_owned(),
                }
            }
            None => "nothing".to_owned(),
        }
    }

    fn fail(&mut self, failure: Failure) -> String {
        self.live.not_stored(self.live.ownership.generation, failure).to_string()
    }

    /// The stored task, `ahead` writes later.
    fn in_store(&self, ahead: u64) -> StoredTask {
        let version = self.live.persistence.version.max(1) + ahead;
        let epoch = self.live.ownership.epoch.max(1) + ahead;
        let last_event = EventId::new(self.live.log.last().max(1) + ahead).unwrap();
        StoredTask::new(Arc::clone(&self.live.task), version, epoch, last_event)
            .with_node(Arc::from("other"))
    }

    fn acquire(&mut self, is_orphan: bool) -> String {
        let mut stored = self.in_store(0);
        stored.epoch += 1;
        self.live.granted(stored, Some(self.now.instant), is_orphan).to_string()
    }

    /// The first step of the loop, if it begins.
    fn reconcile(&mut self, input: fn(&mut LiveTask)) -> String {
        input(&mut self.live);
        if !self.live.has_to_reconcile() {
            return "nothing to do".to_owned();
        }
        match self.live.next_step(false) {
            Some(step) => format!("{step:?}").to_lowercase(),
            None => "done".to_owned(),
        }
    }

    fn read(&mut self, ahead: u64) -> String {
        let mark = self.live.begin_read();
        let stored = self.in_store(ahead);
        let next = mark.after.map_or(1, |after| after.get() + 1);
        let events = (next..=stored.last_event.get()).map(|id| event(id, chunk())).collect();
        self.live.read(mark, stored, Replay::Events(events), "me");
        String::new()
    }

    fn remote(&mut self, payload: Payload) -> String {
        let next = self.live.log.last() + 1;
        let last = EventId::new(next).unwrap();
        self.live.apply_remote(last, vec![event(next, payload)]);
        String::new()
    }

    fn acknowledged(mut self) -> Self {
        self.live.effects = Effects::default();
        self.live.ownership.work = Reconciliation::default();
        self.now.instant += Duration::from_secs(1);
        self
    }

    fn update(mut self) -> Self {
        self.put(status(TaskState::Working));
        self.acknowledged()
    }

    fn complete(mut self) -> Self {
        self.put(status(TaskState::Completed));
        self.acknowledged()
    }

    fn ask(mut self) -> Self {
        self.put_question().unwrap();
        self.acknowledged()
    }

    fn reply(mut self) -> Self {
        assert!(self.live.reply(0, &message("reply")).unwrap().is_some());
        self.acknowledged()
    }

    fn message(mut self, id: &str) -> Self {
        self.take(id, Sender::Waits);
        self.acknowledged()
    }

    /// A message whose sender does not wait, with the command that keeps it.
    fn kept_message(mut self, id: &str) -> Self {
        let turn = TurnRequest { commands: vec!["kept".into()], ..turn(id) };
        self.take_turn(turn, Sender::Leaves);
        self.acknowledged()
    }

    fn cancel(mut self) -> Self {
        self.live.cancel(cancel(), None, self.now).unwrap();
        self.acknowledged()
    }

    /// A writer has taken the pending changes, and the store has not answered.
    fn writing(mut self) -> Self {
        assert!(self.live.begin_writing());
        self.advance_writer();
        assert!(self.group.is_some());
        self.acknowledged()
    }

    fn written(mut self) -> Self {
        if self.live.begin_writing() {
            self.advance_writer();
            self.store();
            self.advance_writer();
        }
        self.acknowledged()
    }

    fn not_stored(mut self) -> Self {
        self.fail(Failure::Unavailable);
        self.acknowledged()
    }

    fn returned(mut self) -> Self {
        self.end(RunEnd::Returned, false);
        self.acknowledged()
    }

    fn dropped(mut self) -> Self {
        self.end(RunEnd::Dropped, false);
        self.acknowledged()
    }

    fn lost(mut self) -> Self {
        self.live.lose(Holder::Elsewhere);
        self.acknowledged()
    }

    /// The other node releases the lease.
    fn released(mut self) -> Self {
        let mark = self.live.begin_read();
        let stored = self.in_store(0).with_node(None);
        self.live.read(mark, stored, Replay::Events(Vec::new()), "me");
        self.acknowledged()
    }

    fn acquired(mut self) -> Self {
        self.acquire(false);
        self.acknowledged()
    }
}

fn event(id: u64, payload: Payload) -> Event {
    Event::new(EventId::new(id), StreamResponse { payload: Some(payload) })
}
