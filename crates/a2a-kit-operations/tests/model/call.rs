//! Callers that check their responses.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use a2a_core::{
    Error, ErrorKind, Task, TaskState,
    v1::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, send_message_response,
        stream_response::Payload,
    },
};
use a2a_kit_operations::{Agent, Call, Engine, Event, EventId, EventStream};
use futures_util::StreamExt as _;

use super::{journal::Journal, link::Link, step::Mode};

/// Expectations for the end of a case.
#[derive(Clone, Debug)]
pub(super) enum Expected {
    /// The message is in the history of the task.
    Handled { task: String, message: String },
    /// The same, unless the task ended before its turn.
    HandledOrEnded { task: String, message: String },
    /// The message is in no history.
    NotHandled { message: String },
    /// The task has ended.
    Ended { task: String },
    /// The task was canceled.
    Canceled { task: String },
}

/// State shared by all callers.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) journal: Journal,
    pub(super) expected: Mutex<Vec<Expected>>,
    /// Whether any node has failed so far.
    pub(super) troubled: AtomicBool,
    /// The newest version of each task that any caller has seen.
    newest: Mutex<Seen>,
}

/// The newest versions of tasks that were seen before a call.
type Seen = HashMap<String, usize>;

impl Shared {
    /// What was seen so far. A call from now on returns nothing older.
    fn seen(&self) -> Seen {
        self.newest.lock().unwrap().clone()
    }

    /// Checks a version, and records it. If several versions look alike, it is between two of them.
    fn see(&self, id: &str, versions: (usize, usize), before: &Seen) {
        let (oldest, newest) = versions;
        let known = before.get(id).copied().unwrap_or(0);
        assert!(newest >= known, "{id} is seen as of write {newest}, after write {known}");
        let mut seen = self.newest.lock().unwrap();
        let known = seen.entry(id.to_owned()).or_default();
        *known = oldest.max(*known);
    }

    /// Checks a task in a response.
    fn see_task(&self, task: &Task, before: &Seen) {
        self.journal.check_task(task);
        self.see_like(&task.id, |version| version == task, before);
    }

    /// Checks an entry of a list, which has no history.
    fn see_listed(&self, task: &Task, before: &Seen) {
        self.see_like(&task.id, |version| version.status == task.status, before);
    }

    fn see_like(&self, id: &str, is_like: impl Fn(&Task) -> bool, before: &Seen) {
        let versions = {
            let records = self.journal.lock();
            let versions = &records.tasks[id].versions;
            let oldest = versions.iter().position(&is_like);
            oldest.zip(versions.iter().rposition(&is_like))
        };
        let versions = versions.unwrap_or_else(|| panic!("{id} is seen as it never was"));
        self.see(id, versions, before);
    }

    /// Checks an event of a stream, and the first one against what was seen before.
    fn see_event(&self, id: &str, event: &Event, before: &Seen) {
        self.journal.check_event(id, event);
        let version = {
            let records = self.journal.lock();
            let position = event.id().expect("events of tasks have positions").get();
            records.tasks[id].version_at(position)
        };
        // Only the opening can be older than what was seen: positions follow each other.
        let newest = match event.task() {
            Some(_) => self.last_version(id, event),
            None => usize::MAX,
        };
        self.see(id, (version, newest), before);
    }

    /// The last version with the event of a snapshot: what follows has no event.
    fn last_version(&self, id: &str, event: &Event) -> usize {
        let records = self.journal.lock();
        let record = &records.tasks[id];
        let position = event.id().map_or(0, EventId::get);
        record.positions.iter().rposition(|last| *last <= position).unwrap_or_default()
    }
}

/// A caller of a node.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) engine: Engine,
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
}

impl Client {
    fn expect(&self, expected: Expected) {
        self.shared.expected.lock().unwrap().push(expected);
    }

    /// Checks that an error is expected.
    fn check(&self, error: &Error, task: &str, allowed: &[ErrorKind]) {
        let is_right = match error.kind() {
            ErrorKind::Unavailable => self.shared.troubled.load(Ordering::Relaxed),
            ErrorKind::TaskNotFound => {
                let records = self.shared.journal.lock();
                records.tasks.get(task).is_some_and(|record| record.is_swept)
            }
            kind => allowed.contains(&kind),
        };
        assert!(is_right, "{error:?} of {task:?}");
    }

    /// Sends a message.
    pub(super) async fn send(self, mut call: Call<SendMessageRequest>, mode: Mode, again: bool) {
        let message = call.request.message.clone().unwrap();
        let (id, script) = (message.message_id.clone(), message.text());
        let task = message.task_id.clone();
        call.request.configuration = Some(SendMessageConfiguration {
            return_immediately: mode == Mode::AtOnce,
            ..SendMessageConfiguration::default()
        });
        let keyed = call.context.idempotency_key.is_some();
        let before = self.shared.seen();
        let result = if mode == Mode::Stream {
            match self.engine.send_streaming_message(call).await {
                Ok(reply) => self.read(reply.response, &task, None, Some(&script), &before).await,
                Err(error) => Err(error),
            }
        } else {
            match self.engine.send_message(call).await {
                Ok(reply) => Ok(self.answered(reply.response, mode, &script, &before)),
                Err(error) => Err(error),
            }
        };
        match result {
            Ok(Some((task, true))) => self.expect(Expected::Handled { task, message: id }),
            Ok(Some((task, false))) => self.expect(Expected::HandledOrEnded { task, message: id }),
            Ok(None) => assert!(script.ends_with("reply"), "{script} was answered by a message"),
            Err(error) => {
                let allowed: &[_] = if task.is_empty() {
                    &[]
                } else {
                    &[ErrorKind::UnsupportedOperation, ErrorKind::ResourceExhausted]
                };
                self.check(&error, &task, allowed);
                if error.kind() == ErrorKind::UnsupportedOperation {
                    self.expect(Expected::Ended { task });
                    if !again && !keyed {
                        self.expect(Expected::NotHandled { message: id });
                    }
                }
            }
        }
    }

    /// The task of a response, and whether the message must be in its history.
    fn answered(
        &self,
        response: SendMessageResponse,
        mode: Mode,
        script: &str,
        before: &Seen,
    ) -> Option<(String, bool)> {
        let task = match response.payload.unwrap() {
            send_message_response::Payload::Message(_) => return None,
            send_message_response::Payload::Task(task) => task,
        };
        self.shared.see_task(&task, before);
        let said = task.history.iter().filter(|message| message.role() == a2a_core::Role::User);
        let is_first = said.count() == 1;
        let settled = task.state().is_settled() || script.ends_with("return");
        let troubled = self.shared.troubled.load(Ordering::Relaxed);
        assert!(mode == Mode::AtOnce || settled || !is_first || troubled, "too early: {task:?}");
        Some((task.id, mode == Mode::Wait))
    }

    /// Reads a stream to its end. Returns the id of the task, if any, and whether the stream was
    /// whole.
    async fn read(
        &self,
        mut stream: EventStream,
        task_id: &str,
        after: Option<u64>,
        script: Option<&str>,
        before: &Seen,
    ) -> Result<Option<(String, bool)>, Error> {
        let mut task_id = task_id.to_owned();
        let mut next = after.map(|after| after + 1);
        let mut state = None;
        while let Some(item) = stream.next().await {
            let event = match item {
                Ok(event) => event,
                Err(error) => {
                    let is_known = self.shared.journal.lock().tasks.contains_key(&task_id);
                    if error.kind() != ErrorKind::Unavailable || !is_known {
                        // Also the end of a message whose turn never came.
                        return Err(error);
                    }
                    self.check_cut(&task_id, script);
                    return Ok(Some((task_id, false)));
                }
            };
            match event.payload().unwrap() {
                Payload::Message(_) => return Ok(None),
                Payload::Task(task) => task_id.clone_from(&task.id),
                Payload::StatusUpdate(update) => task_id.clone_from(&update.task_id),
                Payload::ArtifactUpdate(update) => task_id.clone_from(&update.task_id),
            }
            let Some(id) = event.id() else {
                // The opening of a message that is queued.
                let task = event.task().expect("only a task has no position");
                self.shared.see_task(task, before);
                continue;
            };
            self.shared.see_event(&task_id, &event, before);
            let position = id.get();
            assert_eq!(position, next.unwrap_or(position), "a reader of {task_id} missed events");
            next = Some(position + 1);
            state = event.state().or(state);
        }
        if script.is_none() {
            assert!(state.is_some_and(TaskState::is_terminal), "{task_id} ended as {state:?}");
            let last = self.shared.journal.lock().tasks[&task_id].last();
            assert_eq!(next, Some(last + 1), "a reader of {task_id} missed the end");
        }
        Ok(Some((task_id, true)))
    }

    /// Checks that a stream may be interrupted.
    fn check_cut(&self, task_id: &str, script: Option<&str>) {
        let records = self.shared.journal.lock();
        let record = &records.tasks[task_id];
        let returns = script.is_some() && record.last_said().text().ends_with("return");
        let troubled = match script {
            // A mere reader is not notified of what happens elsewhere.
            None => self.link.is_troubled(),
            Some(_) => self.shared.troubled.load(Ordering::Relaxed),
        };
        assert!(returns || troubled || record.is_swept, "a stream of {task_id} was cut");
    }

    /// Subscribes to a task until it ends.
    pub(super) async fn subscribe(self, id: String, after: Option<u64>) {
        let request =
            SubscribeToTaskRequest { id: id.clone(), ..SubscribeToTaskRequest::default() };
        let mut call = Call::new(request);
        call.context.last_event_id = after.and_then(EventId::new);
        // A resumed stream goes on where it was cut.
        let before = if after.is_none() { self.shared.seen() } else { Seen::new() };
        match self.engine.subscribe_to_task(call).await {
            Ok(reply) => {
                if let Err(error) = self.read(reply.response, &id, after, None, &before).await {
                    self.check(&error, &id, &[]);
                }
            }
            Err(error) => {
                self.check(&error, &id, &[ErrorKind::UnsupportedOperation]);
                if error.kind() == ErrorKind::UnsupportedOperation {
                    self.expect(Expected::Ended { task: id });
                }
            }
        }
    }

    /// Cancels a task.
    pub(super) async fn cancel(self, id: String) {
        let call = Call::new(CancelTaskRequest { id: id.clone(), ..CancelTaskRequest::default() });
        let before = self.shared.seen();
        match self.engine.cancel_task(call).await {
            Ok(reply) => {
                assert_eq!(reply.response.state(), TaskState::Canceled);
                self.shared.see_task(&reply.response, &before);
                self.expect(Expected::Canceled { task: id });
            }
            Err(error) => {
                self.check(&error, &id, &[ErrorKind::TaskNotCancelable]);
                if error.kind() == ErrorKind::TaskNotCancelable {
                    self.expect(Expected::Ended { task: id });
                }
            }
        }
    }

    /// Gets a task.
    pub(super) async fn get(self, id: String) {
        let call = Call::new(GetTaskRequest { id: id.clone(), ..GetTaskRequest::default() });
        let before = self.shared.seen();
        match self.engine.get_task(call).await {
            Ok(reply) => self.shared.see_task(&reply.response, &before),
            Err(error) => self.check(&error, &id, &[]),
        }
    }

    /// Lists the tasks in a state page by page, and returns their ids and the total.
    pub(super) async fn list(self, size: i32, state: Option<i32>) -> Option<(Vec<String>, i32)> {
        let mut ids = Vec::new();
        let mut token = String::new();
        loop {
            let request = ListTasksRequest {
                page_size: Some(size),
                page_token: std::mem::take(&mut token),
                status: state.unwrap_or_default(),
                ..ListTasksRequest::default()
            };
            let before = self.shared.seen();
            match self.engine.list_tasks(Call::new(request)).await {
                Ok(reply) => {
                    let page = reply.response;
                    page.tasks.iter().for_each(|task| self.shared.see_listed(task, &before));
                    assert!(page.tasks.len() <= usize::try_from(size).unwrap());
                    ids.extend(page.tasks.into_iter().map(|task| task.id));
                    token = page.next_page_token;
                    if token.is_empty() {
                        return Some((ids, page.total_size));
                    }
                }
                Err(error) => {
                    self.check(&error, "", &[]);
                    return None;
                }
            }
        }
    }
}
