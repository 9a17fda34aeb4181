//! Callers that check their responses.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use a2a_core::{
    Error, ErrorKind, TaskState,
    v1::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, send_message_response,
        stream_response::Payload,
    },
};
use a2a_kit_operations::{Agent, Call, Engine, EventId, EventStream};
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
        let result = if mode == Mode::Stream {
            match self.engine.send_streaming_message(call).await {
                Ok(reply) => self
                    .read(reply.response, &task, None, Some(&script))
                    .await
                    .map(|task| task.map(|task| (task, true))),
                Err(error) => Err(error),
            }
        } else {
            match self.engine.send_message(call).await {
                Ok(reply) => Ok(self.answered(reply.response, mode, &script)),
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
    ) -> Option<(String, bool)> {
        let task = match response.payload.unwrap() {
            send_message_response::Payload::Message(_) => return None,
            send_message_response::Payload::Task(task) => task,
        };
        self.shared.journal.check_task(&task);
        let said = task.history.iter().filter(|message| message.role() == a2a_core::Role::User);
        let is_first = said.count() == 1;
        let settled = task.state().is_settled() || script.ends_with("return");
        let troubled = self.shared.troubled.load(Ordering::Relaxed);
        assert!(mode == Mode::AtOnce || settled || !is_first || troubled, "too early: {task:?}");
        Some((task.id, mode == Mode::Wait))
    }

    /// Reads a stream to its end, and returns the id of the task, if any.
    async fn read(
        &self,
        mut stream: EventStream,
        task_id: &str,
        after: Option<u64>,
        script: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let mut task_id = task_id.to_owned();
        let mut next = after.map(|after| after + 1);
        let mut state = None;
        while let Some(item) = stream.next().await {
            let event = match item {
                Ok(event) => event,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
                    if !self.shared.journal.lock().tasks.contains_key(&task_id) {
                        return Err(error);
                    }
                    self.check_cut(&task_id, script);
                    return Ok(Some(task_id));
                }
            };
            match event.payload().unwrap() {
                Payload::Message(_) => return Ok(None),
                Payload::Task(task) => task_id.clone_from(&task.id),
                Payload::StatusUpdate(update) => task_id.clone_from(&update.task_id),
                Payload::ArtifactUpdate(update) => task_id.clone_from(&update.task_id),
            }
            self.shared.journal.check_event(&task_id, &event);
            let position = event.id().unwrap().get();
            assert_eq!(position, next.unwrap_or(position), "a reader of {task_id} missed events");
            next = Some(position + 1);
            state = event.state().or(state);
        }
        if script.is_none() {
            assert!(state.is_some_and(TaskState::is_terminal), "{task_id} ended as {state:?}");
            let last = self.shared.journal.lock().tasks[&task_id].last();
            assert_eq!(next, Some(last + 1), "a reader of {task_id} missed the end");
        }
        Ok(Some(task_id))
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
        match self.engine.subscribe_to_task(call).await {
            Ok(reply) => {
                let _ = self.read(reply.response, &id, after, None).await;
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
        match self.engine.cancel_task(call).await {
            Ok(reply) => {
                assert_eq!(reply.response.state(), TaskState::Canceled);
                self.shared.journal.check_task(&reply.response);
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
        match self.engine.get_task(call).await {
            Ok(reply) => self.shared.journal.check_task(&reply.response),
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
            match self.engine.list_tasks(Call::new(request)).await {
                Ok(reply) => {
                    let page = reply.response;
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
