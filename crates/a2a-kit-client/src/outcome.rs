//! The outcome of a send.

use a2a_core::{
    Error, ErrorKind, Message, Result, Task, TaskState,
    v1::{SendMessageResponse, send_message_response::Payload},
};

/// The response to a message: a task, or a message without a task.
#[derive(Clone, Debug, PartialEq)]
pub enum SendOutcome {
    /// A task, in its state at the time of the response.
    Task(Task),
    /// A message without a task.
    Message(Message),
}

impl SendOutcome {
    /// The text of the response: that of the message or of the task's artifacts, else of the task's
    /// status message.
    pub fn text(&self) -> String {
        match self {
            Self::Message(message) => message.text(),
            Self::Task(task) => {
                let text = task.text();
                if text.is_empty() { task.status_text() } else { text }
            }
        }
    }

    /// The task, if the response is one.
    pub fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Message(_) => None,
        }
    }

    /// The message, if the response is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Task(_) => None,
            Self::Message(message) => Some(message),
        }
    }

    /// The state of the task, if the response is a task.
    pub fn state(&self) -> Option<TaskState> {
        self.task().map(Task::state)
    }

    /// The id of the task, if the response is a task; `None` also for a message with a task id.
    pub fn task_id(&self) -> Option<&str> {
        self.task().map(|task| task.id.as_str())
    }

    /// The context id; empty if the agent set none.
    pub fn context_id(&self) -> &str {
        match self {
            Self::Task(task) => &task.context_id,
            Self::Message(message) => &message.context_id,
        }
    }
}

impl TryFrom<SendMessageResponse> for SendOutcome {
    type Error = Error;

    /// # Errors
    ///
    /// [`ErrorKind::InvalidAgentResponse`] for a response without a payload.
    fn try_from(response: SendMessageResponse) -> Result<Self> {
        match response.payload {
            Some(Payload::Task(task)) => Ok(Self::Task(task)),
            Some(Payload::Message(message)) => Ok(Self::Message(message)),
            None => Err(Error::new(
                ErrorKind::InvalidAgentResponse,
                "response contains neither a task nor a message",
            )),
        }
    }
}

impl From<SendOutcome> for SendMessageResponse {
    fn from(outcome: SendOutcome) -> Self {
        let payload = match outcome {
            SendOutcome::Task(task) => Payload::Task(task),
            SendOutcome::Message(message) => Payload::Message(message),
        };
        Self { payload: Some(payload) }
    }
}
