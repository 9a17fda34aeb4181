//! How an executor tells what becomes of its task.

use a2a_core::v1::{
    Artifact, Message, Part, Role, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};

use crate::{
    engine::{Handle, TaskLimit},
    extension::Active,
};

/// Changes the task that an executor works on.
///
/// Each method returns when the change is accepted; a change of the status, when it is stored.
/// Readers see changes in the order in which they were made. Clones change the same task.
#[derive(Clone, Debug)]
pub struct TaskUpdater {
    handle: Handle,
    /// The run that this belongs to; a later one does not listen to it.
    run: u64,
    /// The extensions that the message asked for, if it did for any.
    extensions: Option<Active>,
}

/// Why a change was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The task has ended, or a message has answered in its place; nothing can change it.
    #[error("the task has ended")]
    Ended,
    /// The client has canceled, so no further message comes.
    #[error("the task is being canceled")]
    Canceled,
    /// The task is as large as it may be; it is FAILED with that as the reason.
    #[error("the task is at its limit {0}")]
    Limit(TaskLimit),
    /// The store does not take the change.
    #[error("the task could not be stored")]
    Store,
    /// Another run works on the task now, here or on another node: this one was taken for dead.
    #[error("another run works on the task")]
    Moved,
}

/// The message of a status: none, a text, parts, or a whole message.
#[derive(Clone, Debug, Default)]
pub struct StatusMessage(pub(crate) Option<Message>);

impl From<()> for StatusMessage {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl From<&str> for StatusMessage {
    fn from(text: &str) -> Self {
        Self(Some(Message::agent(text)))
    }
}

impl From<String> for StatusMessage {
    fn from(text: String) -> Self {
        Self(Some(Message::agent(text)))
    }
}

impl From<Vec<Part>> for StatusMessage {
    fn from(parts: Vec<Part>) -> Self {
        Self(Some(Message::new(Role::Agent, parts)))
    }
}

impl From<Message> for StatusMessage {
    fn from(message: Message) -> Self {
        Self(Some(message))
    }
}

impl From<Option<Message>> for StatusMessage {
    fn from(message: Option<Message>) -> Self {
        Self(message)
    }
}

impl TaskUpdater {
    pub(crate) fn new(handle: Handle, run: u64, extensions: Option<Active>) -> Self {
        Self { handle, run, extensions }
    }

    /// The id of the task.
    pub fn task_id(&self) -> &str {
        self.handle.task_id()
    }

    /// The id of the conversation.
    pub fn context_id(&self) -> &str {
        self.handle.context_id()
    }

    /// Says that work has begun: WORKING.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`], as with every method here.
    pub async fn start(&self) -> Result<(), UpdateError> {
        self.status(TaskState::Working, ()).await
    }

    /// Sets a status.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn status(
        &self,
        state: TaskState,
        message: impl Into<StatusMessage>,
    ) -> Result<(), UpdateError> {
        let message = message.into().0;
        let Some(extensions) = &self.extensions else {
            return self.handle.set_status(self.run, state, message).await;
        };
        let mut update = update(state, message);
        extensions.status(&mut update);
        self.handle.push_status(self.run, update).await
    }

    /// Ends the task: COMPLETED.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn complete(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::Completed, message).await
    }

    /// Ends the task: FAILED.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn fail(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::Failed, message).await
    }

    /// Declines the task: REJECTED.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn reject(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::Rejected, message).await
    }

    /// Asks the client for more: INPUT_REQUIRED. The next message runs the executor again; to
    /// go on in place, see [`ask`](Self::ask).
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn require_input(
        &self,
        message: impl Into<StatusMessage>,
    ) -> Result<(), UpdateError> {
        self.status(TaskState::InputRequired, message).await
    }

    /// Asks the client for an authorization (spec §7.6): AUTH_REQUIRED. The message says what is
    /// needed, for what, and where to give it.
    ///
    /// Credentials come out of band, over HTTPS and not in a message: the user signs in on a page
    /// of the agent, say. The executor waits for that meanwhile and then says
    /// [`start`](Self::start), or whatever comes next; streams stay open. Where a message answers,
    /// as client and agent have agreed, [`ask_auth`](Self::ask_auth) waits for it, or the executor
    /// returns and is run again by it.
    ///
    /// # What is left to the agent
    ///
    /// - The change of a state is no permission, and a message is none by itself: what counts is
    ///   what came over the way that was agreed on (spec §7.6.4).
    /// - What is allowed, for how long and to whom, is the agent's to define and to keep. It holds
    ///   for what was asked; a later message, of the same conversation or task too, is not covered
    ///   unless that was a part of it.
    /// - Credentials inside a message are bound to the agent that asks, and encrypted for it:
    ///   agents in between see the message too (spec §7.6.3).
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn require_auth(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::AuthRequired, message).await
    }

    /// Gives a whole artifact. One with the same id is replaced.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.chunk(artifact, false, true).await
    }

    /// Gives the first chunk of an artifact.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn begin(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.chunk(artifact, false, false).await
    }

    /// Gives a further chunk of the artifact with the same id.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn append(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.chunk(artifact, true, false).await
    }

    /// Gives the last chunk of the artifact with the same id.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn append_last(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.chunk(artifact, true, true).await
    }

    async fn chunk(
        &self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
    ) -> Result<(), UpdateError> {
        let update = TaskArtifactUpdateEvent {
            artifact: Some(artifact),
            append,
            last_chunk,
            ..TaskArtifactUpdateEvent::default()
        };
        self.artifact_update(update).await
    }

    /// Passes on an artifact update, for example another agent's. The engine sets the ids of the
    /// task.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn artifact_update(
        &self,
        mut update: TaskArtifactUpdateEvent,
    ) -> Result<(), UpdateError> {
        if let Some(extensions) = &self.extensions {
            extensions.artifact(&mut update);
        }
        self.handle.push_artifact(self.run, update).await
    }

    /// Passes on a status update, for example another agent's. The engine sets the ids of the
    /// task, and the time where it has none.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn status_update(
        &self,
        mut update: TaskStatusUpdateEvent,
    ) -> Result<(), UpdateError> {
        if let Some(extensions) = &self.extensions {
            extensions.status(&mut update);
        }
        self.handle.push_status(self.run, update).await
    }

    /// Answers with a message in place of a task. Where the task has appeared already, it is
    /// completed with that message.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn reply(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        let message = message.into().0;
        let mut message = message.unwrap_or_else(|| Message::new(Role::Agent, Vec::new()));
        if let Some(extensions) = &self.extensions {
            extensions.reply(&mut message);
        }
        self.handle.reply(self.run, message).await
    }

    /// Asks the client for more, INPUT_REQUIRED, and returns its next message: a conversation as
    /// straight-line code.
    ///
    /// The wait is in memory only. After [`ask_timeout`](crate::EngineConfig::ask_timeout), or a
    /// restart, the executor is dropped here; the task stays INPUT_REQUIRED, and the next message
    /// runs it from the start, with the conversation so far in
    /// [`RequestContext::task`](crate::RequestContext::task).
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn ask(&self, question: impl Into<StatusMessage>) -> Result<Message, UpdateError> {
        self.ask_in(TaskState::InputRequired, question.into().0).await
    }

    /// Asks the client for an authorization as [`require_auth`](Self::require_auth) does, and
    /// returns its next message. Dropped when the authorization comes out of band instead, it
    /// leaves everything as it is:
    ///
    /// ```
    /// # use a2a_operations::{TaskUpdater, UpdateError};
    /// # async fn example(updates: TaskUpdater, approved: impl Future<Output = ()>) -> Result<(), UpdateError> {
    /// tokio::select! {
    ///     () = approved => {}
    ///     message = updates.ask_auth("Approve it at https://agent.example/approve") => {
    ///         if message?.text() == "never mind" {
    ///             return updates.reject("As you wish.").await;
    ///         }
    ///     }
    /// }
    /// updates.start().await
    /// # }
    /// ```
    ///
    /// The wait is in memory only, like that of [`ask`](Self::ask). After a restart the task is
    /// one whose work was cut off: run again from the start, or failed, as the executor's
    /// [`recovery`](crate::AgentExecutor::recovery) has it.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn ask_auth(
        &self,
        question: impl Into<StatusMessage>,
    ) -> Result<Message, UpdateError> {
        self.ask_in(TaskState::AuthRequired, question.into().0).await
    }

    async fn ask_in(
        &self,
        state: TaskState,
        question: Option<Message>,
    ) -> Result<Message, UpdateError> {
        let mut question = update(state, question);
        if let Some(extensions) = &self.extensions {
            extensions.status(&mut question);
        }
        self.handle.ask(self.run, question).await
    }
}

/// A status with the time of now, as an update that has no ids yet.
fn update(state: TaskState, message: Option<Message>) -> TaskStatusUpdateEvent {
    let status = Some(TaskStatus::now(state, message));
    TaskStatusUpdateEvent { status, ..TaskStatusUpdateEvent::default() }
}
