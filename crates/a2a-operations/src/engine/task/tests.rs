//! What every input does in every state, as a table: `table.txt`. With `BLESS=1` in the
//! environment what is so now becomes the table, to be looked through.

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
};

use super::{
    Birth, CancelStep, Ended, Failure, Group, Holder, LiveTask, Log, Refusal, Room, Say,
    TurnRequest, run::Shape,
};
use crate::{
    CallContext, Event, EventId, TaskLimits, UpdateError,
    engine::slots::{Slot, Slots},
    store::{Replay, StoredTask},
};

const TABLE: &str = include_str!("table.txt");

/// A task, and what surrounds it.
struct Bench {
    live: LiveTask,
    /// What the store has not answered yet.
    group: Option<Group>,
    now: Instant,
}

type State = (&'static str, fn() -> Bench);
type Input = (&'static str, fn(&mut Bench) -> String);

const STATES: &[State] = &[
    ("new", draft),
    ("appearing", || draft().update().writing()),
    ("working", working),
    ("writing", || working().update().writing()),
    ("asking", || working().ask().written()),
    ("queued", || working().message("second")),
    ("canceling", || working().cancel()),
    ("ending", || working().complete().writing()),
    ("waiting", || working().ask().written().dropped().written()),
    ("ended", || working().complete().written().returned()),
    ("replied", || draft().reply().returned()),
    ("elsewhere", || working().lost()),
    ("free", || working().lost().freed()),
    ("taken over", || working().lost().freed().acquired()),
    ("failed", || working().update().writing().not_stored()),
];

const INPUTS: &[Input] = &[
    ("message", |b| b.take("next", false)),
    ("message, nobody waits", |b| b.take("next", true)),
    ("first message again", |b| b.take("first", false)),
    ("update: working", |b| b.put(status(TaskState::Working))),
    ("update: artifact", |b| b.put(chunk())),
    ("update: completed", |b| b.put(status(TaskState::Completed))),
    ("update too large", Bench::put_too_much),
    ("update of a past run", |b| {
        let generation = b.live.ownership.generation + 1;
        result(b.put_as(generation, chunk()))
    }),
    ("reply", |b| result(b.live.reply(b.live.ownership.generation, &message("re")))),
    ("ask", |b| result(b.put_question())),
    ("look for the answer", |b| match b.live.asked(b.live.ownership.generation) {
        Some(Ok(message)) => format!("message {}", message.message_id),
        Some(Err(error)) => error_name(&error),
        None => "wait".to_owned(),
    }),
    ("the question is given up", |b| b.tell(|live, _| live.stop_asking())),
    ("silence", |b| b.tell(|live, _| live.silent(live.ownership.generation))),
    ("executor returns", |b| b.end(Ended::Returned, false)),
    ("executor fails", |b| b.end(Ended::Failed("why".to_owned()), false)),
    ("executor dropped", |b| b.end(Ended::Dropped, false)),
    ("executor dropped at shutdown", |b| b.end(Ended::Dropped, true)),
    ("cancel", |b| match b.live.cancel(None) {
        CancelStep::Tell(_) => "tell".to_owned(),
        step => format!("{step:?}").to_lowercase(),
    }),
    ("cancel by force", |b| b.tell(|live, now| live.force_cancel(&say, now))),
    ("drop the executor", |b| b.tell(|live, _| live.drop_executor())),
    ("drop the executor if it asks", |b| b.tell(|live, _| live.drop_asking())),
    ("begin to write", |b| b.live.begin_writing().to_string()),
    ("the writer goes on", Bench::go_on),
    ("stored", Bench::store),
    ("the store fails", |b| b.tell(|live, _| live.not_stored(Failure::Unavailable))),
    ("the store is full", |b| b.tell(|live, _| live.not_stored(Failure::Full))),
    ("another task has the key", |b| {
        b.tell(|live, _| live.not_stored(Failure::Superseded("other".into())))
    }),
    ("another node has it", |b| b.tell(|live, _| live.lose(Holder::Elsewhere))),
    ("the lease is lost", |b| b.live.lose_lease(Some(b.live.ownership.epoch)).to_string()),
    ("begin to reach", |b| format!("{:?}", b.live.begin_reaching()).to_lowercase()),
    ("acquired", Bench::acquire),
    ("taken over", |b| b.live.give_up_before(b.live.ownership.epoch + 1).to_string()),
    ("run again", |b| b.tell(|live, now| live.rerun(slot(), now))),
    ("let go", |b| match b.live.let_go() {
        Some((epoch, unfinished)) => format!("epoch {epoch}, unfinished {unfinished}"),
        None => "kept".to_owned(),
    }),
    ("released", |b| b.tell(|live, _| live.released(live.ownership.epoch))),
    ("lease due", |b| format!("{:?}", b.live.leased())),
    ("heard a chunk", |b| b.hear(chunk())),
    ("heard a status", |b| b.hear(status(TaskState::Completed))),
    ("read the same", |b| b.read(0)),
    ("read a newer one", |b| b.read(1)),
    ("the store has it no more", |b| b.tell(|live, _| live.forgotten())),
    ("a command", |b| {
        b.live.take_command(b.live.ownership.generation, &"command".into(), false).to_string()
    }),
    ("a command to cancel", |b| {
        b.live.take_command(b.live.ownership.generation, &"command".into(), true).to_string()
    }),
];

#[test]
#[expect(clippy::print_stdout, reason = "the table is to be read")]
fn every_input_does_what_the_table_says_in_every_state() {
    let mut table = String::new();
    for (state, make) in STATES {
        let bench = make();
        let before = describe(&bench.live);
        let _ = writeln!(table, "\n{state}: {}", before.join(", "));
        for (input, apply) in INPUTS {
            let mut bench = make();
            let seen = Seen::of(&bench.live);
            let result = apply(&mut bench);
            seen.check(&bench.live, &format!("{state}, {input}"));
            let after = describe(&bench.live);
            let changed: Vec<_> =
                after.iter().filter(|value| !before.contains(value)).map(String::as_str).collect();
            let changed = if changed.is_empty() { "-".to_owned() } else { changed.join(", ") };
            let _ = writeln!(table, "    {input:28} | {result:24} | {changed}");
        }
    }
    println!("{table}");
    if std::env::var_os("BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/engine/task/table.txt");
        std::fs::write(path, &table).unwrap();
        return;
    }
    let differs = |(is, was): &(&str, &str)| is != was;
    if let Some((is, was)) = table.lines().zip(TABLE.lines()).find(differs) {
        panic!("the table says\n{was}\nand it is\n{is}");
    }
    assert_eq!(table.lines().count(), TABLE.lines().count());
}

/// What no input may take back.
struct Seen {
    task: Arc<Task>,
    last: u64,
    is_stored: bool,
    generation: u64,
}

impl Seen {
    fn of(live: &LiveTask) -> Self {
        let (task, last) = (Arc::clone(&live.task), live.log.last());
        Self { task, last, is_stored: live.is_stored(), generation: live.ownership.generation }
    }

    fn check(&self, live: &LiveTask, what: &str) {
        if self.task.state().is_terminal() {
            assert_eq!(self.task, live.task, "{what}: an end is an end");
        }
        assert!(live.log.last() >= self.last, "{what}: what was seen stays");
        assert!(live.is_stored() || !self.is_stored, "{what}: what was stored stays");
        assert!(live.ownership.generation >= self.generation, "{what}");
        let unseen = live.unseen().count();
        let may_write = live.is_here() || live.disk.has_failed();
        assert!(unseen == 0 || may_write, "{what}: only the holder has anything to store");
        assert!(live.changes.last >= live.log.last(), "{what}: positions count up");
        if unseen == 0 && !live.disk.has_failed() {
            assert_eq!(live.changes.head, live.task.state(), "{what}: nothing is pending");
        }
    }
}

fn describe(live: &LiveTask) -> Vec<String> {
    let name = |state: TaskState| state.as_str_name().replace("TASK_STATE_", "").to_lowercase();
    let mut all = vec![
        format!("seen {}", if live.is_stored() { name(live.task.state()) } else { "none".into() }),
        format!("head {}", name(live.changes.head)),
        format!("event {} of {}", live.log.last(), live.changes.last),
        format!("pending {}", live.changes.pending.len()),
        format!("turn {} from {}", live.turns.current, live.turns.start),
        format!("queue {}", live.turns.queue_len()),
        format!("run {}", Shape(&live.run)),
        format!("holder {:?}", live.ownership.holder).to_lowercase(),
        format!("epoch {} generation {}", live.ownership.epoch, live.ownership.generation),
        format!("version {}", live.disk.version()),
    ];
    if let Some(failure) = live.disk.failure() {
        all.push(format!("disk failed: {failure:?}"));
    } else {
        let writing = live.disk.being_written().len();
        let is_writing = live.disk.is_writing();
        all.push(if is_writing { format!("disk writing {writing}") } else { "disk idle".into() });
    }
    if live.reply.is_some() {
        all.push("reply".to_owned());
    }
    for (flag, effect) in [
        (live.effects.begin, "tell begin"),
        (live.effects.cancel, "tell cancel"),
        (live.effects.drop, "tell drop"),
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
    format!("refused: {error:?}")
}

fn say(state: TaskState, text: Option<String>) -> Payload {
    let message = text.map(|text| message(&text));
    let status = Some(TaskStatus { state: state.into(), message, timestamp: None });
    Payload::StatusUpdate(TaskStatusUpdateEvent { status, ..TaskStatusUpdateEvent::default() })
}

fn status(state: TaskState) -> Payload {
    say(state, None)
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
        joins: true,
        rerun: false,
        commands: Vec::new(),
    }
}

fn draft() -> Bench {
    let status = Some(TaskStatus { state: TaskState::Submitted.into(), ..Default::default() });
    let history = vec![message("first")];
    let task = Task { id: "t".to_owned(), status, history, ..Task::default() };
    let live = LiveTask::draft(task, Log::new(0, 100, usize::MAX));
    let mut bench = Bench { live, group: None, now: Instant::now() };
    let birth = Birth { is_streamed: true, ..Birth::default() };
    bench.live.begin(turn("first"), birth, slot(), bench.now);
    bench
}

fn slot() -> Slot {
    Arc::new(Slots::default()).take(&"ann".into(), None).unwrap()
}

fn working() -> Bench {
    draft().update().written()
}

impl Bench {
    fn tell(&mut self, input: impl FnOnce(&mut LiveTask, Instant)) -> String {
        input(&mut self.live, self.now);
        String::new()
    }

    fn put_as(&mut self, generation: u64, payload: Payload) -> Result<u64, UpdateError> {
        self.live.update(generation, payload, &TaskLimits::default(), &say, self.now)
    }

    fn put(&mut self, payload: Payload) -> String {
        result(self.put_as(self.live.ownership.generation, payload))
    }

    fn put_too_much(&mut self) -> String {
        let limits = TaskLimits::default().with_max_artifact_bytes(1);
        let generation = self.live.ownership.generation;
        result(self.live.update(generation, chunk(), &limits, &say, self.now))
    }

    fn put_question(&mut self) -> Result<u64, UpdateError> {
        let question = status(TaskState::InputRequired);
        let (generation, limits) = (self.live.ownership.generation, TaskLimits::default());
        self.live.ask(generation, question, &limits, &say, self.now)
    }

    fn take(&mut self, id: &str, return_immediately: bool) -> String {
        let say: Say<'_> = &say;
        let limits = TaskLimits::default();
        let room =
            Room { task: &limits, max_queued: 2, max_running: None, slot: &mut || Some(slot()) };
        match self.live.take(turn(id), return_immediately, room, say, self.now) {
            Ok((ticket, None)) => format!("ticket {ticket}"),
            Ok((ticket, Some(_))) => format!("ticket {ticket}, run"),
            Err(refusal) => {
                let refusal: Refusal = refusal;
                format!("refused: {refusal:?}")
            }
        }
    }

    fn end(&mut self, ended: Ended, stops: bool) -> String {
        let generation = self.live.ownership.generation;
        match self.live.ended(generation, ended, stops, &say, self.now) {
            Some(turn) => format!("run {}", turn.message.message_id),
            None => String::new(),
        }
    }

    /// The writer, which waits for the store while there is a group.
    fn go_on(&mut self) -> String {
        if self.group.is_some() {
            return "waits".to_owned();
        }
        self.group = self.live.next_group();
        match &self.group {
            Some(group) => format!("{} events to store", group.events().count()),
            None => "done".to_owned(),
        }
    }

    fn store(&mut self) -> String {
        match self.group.take() {
            Some(group) if group.generation == self.live.ownership.generation => {
                format!("{} states", self.live.stored(group).len())
            }
            Some(_) => "of the past".to_owned(),
            None => "nothing".to_owned(),
        }
    }

    /// What the store says of the task, `ahead` writes later.
    fn in_store(&self, ahead: u64) -> StoredTask {
        StoredTask {
            task: Arc::clone(&self.live.task),
            version: self.live.disk.version().max(1) + ahead,
            epoch: self.live.ownership.epoch.max(1) + ahead,
            node: Some("other".into()),
            last_event: EventId::new(self.live.log.last().max(1) + ahead).unwrap(),
        }
    }

    fn acquire(&mut self) -> String {
        let mut stored = self.in_store(0);
        stored.epoch += 1;
        self.live.acquired(stored).to_string()
    }

    fn read(&mut self, ahead: u64) -> String {
        let mark = self.live.begin_read();
        let stored = self.in_store(ahead);
        let next = mark.after.map_or(1, |after| after.get() + 1);
        let events = (next..=stored.last_event.get()).map(|id| event(id, chunk())).collect();
        self.live.read(mark, stored, Replay::Events(events)).to_string()
    }

    fn hear(&mut self, payload: Payload) -> String {
        let next = self.live.log.last() + 1;
        let last = EventId::new(next).unwrap();
        self.live.heard(last, vec![event(next, payload)]).to_string()
    }

    fn settled(mut self) -> Self {
        self.live.take_effects();
        self.now += Duration::from_secs(1);
        self
    }

    fn update(mut self) -> Self {
        self.put(status(TaskState::Working));
        self.settled()
    }

    fn complete(mut self) -> Self {
        self.put(status(TaskState::Completed));
        self.settled()
    }

    fn ask(mut self) -> Self {
        self.put_question().unwrap();
        self.settled()
    }

    fn reply(mut self) -> Self {
        assert!(self.live.reply(0, &message("reply")).unwrap());
        self.settled()
    }

    fn message(mut self, id: &str) -> Self {
        self.take(id, false);
        self.settled()
    }

    fn cancel(mut self) -> Self {
        assert!(matches!(self.live.cancel(None), CancelStep::Tell(_)));
        self.settled()
    }

    /// A writer has taken what is pending, and the store has not answered.
    fn writing(mut self) -> Self {
        assert!(self.live.begin_writing());
        self.go_on();
        assert!(self.group.is_some());
        self.settled()
    }

    fn written(mut self) -> Self {
        if self.live.begin_writing() {
            self.go_on();
            self.store();
            self.go_on();
        }
        self.settled()
    }

    fn not_stored(mut self) -> Self {
        self.live.not_stored(Failure::Unavailable);
        self.settled()
    }

    fn returned(mut self) -> Self {
        self.end(Ended::Returned, false);
        self.settled()
    }

    fn dropped(mut self) -> Self {
        self.end(Ended::Dropped, false);
        self.settled()
    }

    fn lost(mut self) -> Self {
        self.live.lose(Holder::Elsewhere);
        self.settled()
    }

    /// The other node has let the task go.
    fn freed(mut self) -> Self {
        let mark = self.live.begin_read();
        let stored = StoredTask { node: None, ..self.in_store(0) };
        self.live.read(mark, stored, Replay::Events(Vec::new()));
        self.settled()
    }

    fn acquired(mut self) -> Self {
        self.acquire();
        self.settled()
    }
}

fn event(id: u64, payload: Payload) -> Event {
    Event::new(EventId::new(id), StreamResponse { payload: Some(payload) })
}
