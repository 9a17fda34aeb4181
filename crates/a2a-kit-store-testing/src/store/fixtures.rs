//! Fixtures of the store suite.

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

use a2a_kit_operations::{
    Caller, Event, EventId, Scope, Store, Webhook,
    store::{
        ClaimedDelivery, Command, Committed, NewTask, Replay, StoreError, StoredTask, TaskPage,
        TaskQuery, Transition,
    },
};

/// The scope of a caller without a tenant.
pub fn scope(owner: &str) -> Scope {
    Scope::new("", &Caller::authenticated(owner))
}

/// A task with a status at a time in milliseconds.
pub fn task(id: &str, context_id: &str, state: TaskState, millis: i64) -> Task {
    Task {
        id: id.into(),
        context_id: context_id.into(),
        status: Some(status(state, millis)),
        history: vec![Message::user(format!("please do {id}"))],
        ..Task::default()
    }
}

/// A status at a time in milliseconds.
pub fn status(state: TaskState, millis: i64) -> TaskStatus {
    let timestamp = Some(Timestamp::from_millis(millis));
    TaskStatus { timestamp, ..TaskStatus::now(state, None) }
}

/// An event position.
pub fn at(position: u64) -> EventId {
    EventId::new(position).expect("positions start at 1")
}

/// An event with the whole task.
pub fn shown(position: u64, task: &Task) -> Event {
    event(position, Payload::Task(task.clone()))
}

/// A status update event with the task's current status.
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

/// An event that appends text to the only artifact of a task.
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

/// A new unleased task, with an event that contains it.
pub fn new_task(task: &Task) -> NewTask {
    with_events(task, vec![shown(1, task)])
}

/// A new unleased task, with events that are not pushed.
pub fn with_events(task: &Task, events: Vec<Event>) -> NewTask {
    NewTask::new(Arc::new(task.clone()), events)
}

/// Inserts a new unleased task, with an event that contains it.
pub async fn insert(store: &dyn Store, scope: &Scope, task: &Task) {
    store.insert(scope, new_task(task)).await.expect("the task is new");
}

/// A transition with events only.
pub fn transition(task_id: &str, version: u64, epoch: u64, events: Vec<Event>) -> Transition {
    Transition::new(task_id, version, epoch, events)
}

/// Commits events, and optionally a snapshot, in the first epoch.
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
    let transition = transition(task_id, version, 1, events).with_snapshot(snapshot);
    store.commit(scope, transition).await
}

/// Changes the status of a task.
pub async fn change(store: &dyn Store, scope: &Scope, id: &str, state: TaskState, millis: i64) {
    let StoredTask { task, version, epoch, last_event, .. } = get(store, scope, id).await;
    let task = Task { status: Some(status(state, millis)), ..Task::clone(&task) };
    let events = vec![changed(last_event.next().get(), &task)];
    let snapshot = Some(Arc::new(task));
    let transition = transition(id, version, epoch, events).with_snapshot(snapshot);
    store.commit(scope, transition).await.expect("there is no other writer");
}

/// Returns an existing task.
pub async fn get(store: &dyn Store, scope: &Scope, task_id: &str) -> StoredTask {
    let stored = store.get(scope, task_id).await.expect("the store succeeds");
    stored.expect("the task exists")
}

/// A query with a limit.
pub fn query(limit: usize) -> TaskQuery {
    TaskQuery::default().with_limit(limit)
}

/// Returns a page.
pub async fn list(store: &dyn Store, scope: &Scope, query: &TaskQuery) -> TaskPage {
    store.list(scope, query).await.expect("the store succeeds")
}

/// The ids of the tasks of a page.
pub fn ids(page: &TaskPage) -> Vec<&str> {
    page.tasks.iter().map(|task| task.id.as_str()).collect()
}

/// The positions of events.
pub fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(Event::id).map(EventId::get).collect()
}

/// The events of a replay that was not trimmed.
pub fn untrimmed(replay: Replay) -> Vec<Event> {
    match replay {
        Replay::Events(events) => events,
        Replay::Trimmed => panic!("nothing was trimmed"),
    }
}

/// Returns the events after a position.
pub async fn replayed(store: &dyn Store, scope: &Scope, task_id: &str, after: u64) -> Vec<Event> {
    let replay = store.replay(scope, task_id, at(after)).await.expect("the store succeeds");
    untrimmed(replay.expect("the task exists"))
}

/// Inserts a new task with a checkpoint, leased to the node of the store.
pub async fn insert_held(store: &dyn Store, scope: &Scope, id: &str, checkpoint: &'static [u8]) {
    let checkpoint = Some(Bytes::from_static(checkpoint));
    let new = new_task(&task(id, "c", TaskState::Working, 5)).with_checkpoint(checkpoint);
    store.insert(scope, new).await.expect("the task is new");
}

/// A command whose payload contains its id.
pub fn command(id: &str) -> Command {
    Command::new(id, format!("please {id}"))
}

/// Posts a command, and returns whether it was accepted.
pub async fn post(store: &dyn Store, scope: &Scope, task_id: &str, id: &str) -> bool {
    store.post_command(scope, task_id, command(id)).await.expect("the store succeeds")
}

/// The ids of the pending commands of a task.
pub async fn waiting(store: &dyn Store, task_id: &str) -> Vec<String> {
    let commands = store.commands(task_id).await.expect("the store succeeds");
    commands.iter().map(|command| (*command.id).to_owned()).collect()
}

/// A webhook with a token.
pub fn webhook(task_id: &str, id: &str) -> Webhook {
    Webhook::from(TaskPushNotificationConfig {
        task_id: task_id.into(),
        id: id.into(),
        url: format!("https://example.com/{id}"),
        token: "secret".into(),
        ..TaskPushNotificationConfig::default()
    })
}

/// A new unleased task with webhooks.
pub fn hooked(id: &str, webhooks: &[&str]) -> NewTask {
    let webhooks: Vec<_> = webhooks.iter().map(|config_id| webhook(id, config_id)).collect();
    new_task(&task(id, "c", TaskState::Working, 5)).with_webhooks(webhooks)
}

/// Commits a pushed chunk to a task.
pub async fn push(store: &dyn Store, scope: &Scope, task_id: &str) -> Committed {
    let StoredTask { version, epoch, last_event, .. } = get(store, scope, task_id).await;
    let position = last_event.next();
    let events = vec![chunk(position.get(), task_id, "x")];
    let pushes = vec![position];
    let transition = transition(task_id, version, epoch, events).with_pushes(pushes);
    store.commit(scope, transition).await.expect("there is no other writer")
}

/// Claims due webhooks.
pub async fn due(store: &dyn Store, limit: usize) -> Vec<ClaimedDelivery> {
    let due = store.claim_deliveries(limit).await.expect("the store succeeds");
    assert!(due.deliveries.len() <= limit, "{due:?}");
    due.deliveries
}
