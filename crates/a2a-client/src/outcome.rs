//! What comes of a message.

use a2a_core::{
    Error, ErrorKind, Message, Result, Task, TaskState,
    v1::{SendMessageResponse, send_message_response::Payload},
};

/// What an agent answers to a message: a task that it works on, or a message and nothing more.
#[derive(Clone, Debug, PartialEq)]
pub enum SendOutcome {
    /// A task, in the state it had when the agent answered.
    Task(Task),
    /// An answer without a task.
    Message(Message),
}

impl SendOutcome {
    /// What the agent says, as text: that of the message; or that of the task's artifacts, or of
    /// its status where it has none.
    pub fn text(&self) -> String {
        match self {
            Self::Message(message) => message.text(),
            Self::Task(task) => {
                let text = task.text();
                match task.status_message() {
                    Some(message) if text.is_empty() => message.text(),
                    _ => text,
                }
            }
        }
    }

    /// The task, where there is one.
    pub fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Message(_) => None,
        }
    }

    /// The message, where the agent answered with one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Task(_) => None,
            Self::Message(message) => Some(message),
        }
    }

    /// The state of the task, where there is one.
    pub fn state(&self) -> Option<TaskState> {
        self.task().map(Task::state)
    }

    /// The id of the task, where there is one: `None` too for a message that names a task.
    pub fn task_id(&self) -> Option<&str> {
        self.task().map(|task| task.id.as_str())
    }

    /// The id of the conversation; empty where the agent gave none.
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
    /// [`ErrorKind::InvalidAgentResponse`] for an answer without content.
    fn try_from(response: SendMessageResponse) -> Result<Self> {
        match response.payload {
            Some(Payload::Task(task)) => Ok(Self::Task(task)),
            Some(Payload::Message(message)) => Ok(Self::Message(message)),
            None => Err(Error::new(
                ErrorKind::InvalidAgentResponse,
                "the agent answered with neither a task nor a message",
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
