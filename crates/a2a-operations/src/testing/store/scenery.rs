//! What the tests of a store are set in.

use std::sync::Arc;

use a2a_core::{
    Artifact, Message, Part, TaskState,
    v1::{
        StreamResponse, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskStatus,
        TaskStatusUpdateEvent, stream_response::Payload,
    },
    well_known::Timestamp,
};
use bytes::Bytes;

use crate::{
    Caller, Event, EventId, Scope, Store, Webhook,
    store::{
        Command, Committed, DuePush, Hold, NewTask, Replay, StoreError, StoredTask, TaskPage,
        TaskQuery, Transition,
    },
};

/// The scope of a caller without a tenant.
pub fn scope(owner: &str) -> Scope {
    Scope::new("", &Caller::authenticated(owner))
}

/// A task in a state since a number of milliseconds.
pub fn task(id: &str, context_id: &str, state: TaskState, millis: i64) -> Task {
    Task {
        id: id.into(),
        context_id: context_id.into(),
        status: Some(status(state, millis)),
        history: vec![Message::user(format!("please do {id}"))],
        ..Task::default()
    }
}

/// The status of a task in a state since a number of milliseconds.
pub fn status(state: TaskState, millis: i64) -> TaskStatus {
    let timestamp = Some(Timestamp::from_millis(millis));
    TaskStatus { timestamp, ..TaskStatus::now(state, None) }
}

/// The position with a number.
pub fn at(position: u64) -> EventId {
    EventId::new(position).expect("positions start at 1")
}

/// The event that shows a whole task.
pub fn shown(position: u64, task: &Task) -> Event {
    event(position, Payload::Task(task.clone()))
}

/// The event that a task has come to its status.
pub fn changed(position: u64, task: &Task) -> Event {
    event(
        position,
        Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.clone(),
            ..TaskStatusUpdateEvent::default()
        }),
    )
}

/// The event that text was added to the one artifact of a task.
pub fn chunk(position: u64, task_id: &str, text: &str) -> Event {
    event(
        position,
        Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: task_id.into(),
            artifact: Some(Artifact::new("output", Part::text(text)).with_id("output")),
            append: true,
            ..TaskArtifactUpdateEvent::default()
        }),
    )
}

fn event(position: u64, payload: Payload) -> Event {
    Event::new(EventId::new(position), StreamResponse { payload: Some(payload) })
}

/// A new task that nobody holds, with the event that shows it.
pub fn new_task(task: &Task) -> NewTask {
    with_events(task, vec![shown(1, task)])
}

/// A new task that nobody holds, with events that go to no webhook.
pub fn with_events(task: &Task, events: Vec<Event>) -> NewTask {
    NewTask {
        task: Arc::new(task.clone()),
        key: None,
        events,
        pushes: Vec::new(),
        webhooks: Vec::new(),
        execution: None,
    }
}

/// Stores a new task that nobody holds, with the event that shows it.
pub async fn insert(store: &dyn Store, scope: &Scope, task: &Task) {
    store.insert(scope, new_task(task)).await.expect("the task is new");
}

/// Events for a version and an epoch of a task, which change nothing else.
pub fn transition(task_id: &str, version: u64, epoch: u64, events: Vec<Event>) -> Transition {
    Transition {
        task_id: task_id.into(),
        version,
        epoch,
        events,
        snapshot: None,
        pushes: Vec::new(),
        hold: Hold::Keep,
        answers: Vec::new(),
    }
}

/// Writes events, and the task as it is then, to a version of it in its first epoch.
///
/// # Errors
///
/// Those of the store.
pub async fn commit(
    store: &dyn Store,
    scope: &Scope,
    task_id: &str,
    version: u64,
    events: Vec<Event>,
    snapshot: Option<&Task>,
) -> Result<Committed, StoreError> {
    let snapshot = snapshot.map(|task| Arc::new(task.clone()));
    let transition = Transition { snapshot, ..transition(task_id, version, 1, events) };
    store.commit(scope, transition).await
}

/// Gives a task another status.
pub async fn change(store: &dyn Store, scope: &Scope, id: &str, state: TaskState, millis: i64) {
    let StoredTask { task, version, epoch, last_event, .. } = get(store, scope, id).await;
    let task = Task { status: Some(status(state, millis)), ..Task::clone(&task) };
    let events = vec![changed(last_event.next().get(), &task)];
    let snapshot = Some(Arc::new(task));
    let transition = Transition { snapshot, ..transition(id, version, epoch, events) };
    store.commit(scope, transition).await.expect("nobody else writes");
}

/// Returns a task that is there.
pub async fn get(store: &dyn Store, scope: &Scope, task_id: &str) -> StoredTask {
    let stored = store.get(scope, task_id).await.expect("the store works");
    stored.expect("the task is there")
}

/// A query for up to a number of tasks.
pub fn query(limit: usize) -> TaskQuery {
    TaskQuery { limit, ..TaskQuery::default() }
}

/// Returns a page.
pub async fn list(store: &dyn Store, scope: &Scope, query: &TaskQuery) -> TaskPage {
    store.list(scope, query).await.expect("the store works")
}

/// The ids of the tasks of a page.
pub fn ids(page: &TaskPage) -> Vec<&str> {
    page.tasks.iter().map(|task| task.id.as_str()).collect()
}

/// The positions of events.
pub fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(Event::id).map(EventId::get).collect()
}

/// The events of a log that was not trimmed.
pub fn untrimmed(replay: Replay) -> Vec<Event> {
    match replay {
        Replay::Events(events) => events,
        Replay::Trimmed => panic!("nothing is trimmed so soon"),
    }
}

/// Returns the events behind a position.
pub async fn replayed(store: &dyn Store, scope: &Scope, task_id: &str, after: u64) -> Vec<Event> {
    let replay = store.replay(scope, task_id, at(after)).await.expect("the store works");
    untrimmed(replay.expect("the task is there"))
}

/// Stores a new task that works on something, in the name of the store's node.
pub async fn insert_held(store: &dyn Store, scope: &Scope, id: &str, execution: &'static [u8]) {
    let execution = Some(Bytes::from_static(execution));
    let new = NewTask { execution, ..new_task(&task(id, "c", TaskState::Working, 5)) };
    store.insert(scope, new).await.expect("the task is new");
}

/// A command whose body tells its id.
pub fn command(id: &str) -> Command {
    Command { id: id.into(), body: format!("please {id}").into() }
}

/// Posts a command, and returns whether it was taken.
pub async fn post(store: &dyn Store, scope: &Scope, task_id: &str, id: &str) -> bool {
    store.post(scope, task_id, command(id)).await.expect("the store works")
}

/// The ids of the commands that wait for a task.
pub async fn waiting(store: &dyn Store, task_id: &str) -> Vec<String> {
    let commands = store.commands(task_id).await.expect("the store works");
    commands.iter().map(|command| (*command.id).to_owned()).collect()
}

/// A webhook of a task, with a secret.
pub fn webhook(task_id: &str, id: &str) -> Webhook {
    Webhook::from(TaskPushNotificationConfig {
        task_id: task_id.into(),
        id: id.into(),
        url: format!("https://example.com/{id}"),
        token: "secret".into(),
        ..TaskPushNotificationConfig::default()
    })
}

/// A new task that nobody holds, with webhooks.
pub fn hooked(id: &str, webhooks: &[&str]) -> NewTask {
    NewTask {
        webhooks: webhooks.iter().map(|config_id| webhook(id, config_id)).collect(),
        ..new_task(&task(id, "c", TaskState::Working, 5))
    }
}

/// Adds a chunk to a task, which goes to its webhooks.
pub async fn push(store: &dyn Store, scope: &Scope, task_id: &str) -> Committed {
    let StoredTask { version, epoch, last_event, .. } = get(store, scope, task_id).await;
    let position = last_event.next();
    let events = vec![chunk(position.get(), task_id, "x")];
    let pushes = vec![position];
    let transition = Transition { pushes, ..transition(task_id, version, epoch, events) };
    store.commit(scope, transition).await.expect("nobody else writes")
}

/// Claims webhooks that are due.
pub async fn due(store: &dyn Store, limit: usize) -> Vec<DuePush> {
    let due = store.due(limit).await.expect("the store works");
    assert!(due.pushes.len() <= limit, "{due:?}");
    due.pushes
}
