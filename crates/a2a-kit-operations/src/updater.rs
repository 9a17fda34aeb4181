//! Updates of a task by its executor.

use std::future::Future;

use a2a_core::v1::{
    Artifact, Message, Part, Role, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{BoxError, engine::Handle, extension::Active, update_error::UpdateError};

pub use stream::{IntoChunk, StreamedArtifact};

mod stream;

/// Updates the task of an executor.
///
/// Each method returns when the update is accepted; a status update, when it is stored. Readers see
/// updates in order. Clones update the same task.
///
/// What an executor sends between two yields of its future is stored together, when it yields or
/// returns. What other tasks and threads send through clones is stored at once, even while the
/// executor works. An executor must not block its thread on an update of its own, as with
/// `block_on`: that is stored only when the executor yields.
#[derive(Clone, Debug)]
pub struct TaskUpdater {
    pub(crate) handle: Handle,
    /// The generation of the run; updates of an earlier one are rejected.
    pub(crate) run: u64,
    /// The extensions requested by the message.
    pub(crate) extensions: Option<Active>,
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
    /// The id of the task.
    pub fn task_id(&self) -> &str {
        &self.handle.task_id
    }

    /// The id of the context.
    pub fn context_id(&self) -> &str {
        &self.handle.context_id
    }

    /// Sets WORKING.
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
        let position = self.set_status(update(state, message.into().0))?;
        self.stored(position).await
    }

    /// Completes the task: COMPLETED.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn complete(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::Completed, message).await
    }

    /// Fails the task: FAILED.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn fail(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::Failed, message).await
    }

    /// Rejects the task: REJECTED.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn reject(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::Rejected, message).await
    }

    /// Cancels the task, CANCELED, usually after the client did: see
    /// [Cancellation](crate::AgentExecutor#cancellation). Without a cancel by the client it ends the
    /// task too, for example because another system canceled the work.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn cancel(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::Canceled, message).await
    }

    /// Requests input: INPUT_REQUIRED. The next message reruns the executor; to continue in place,
    /// see [`ask`](Self::ask).
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

    /// Requests authorization (spec §7.6): AUTH_REQUIRED. The message states what is needed, why,
    /// and where to provide it.
    ///
    /// Credentials are provided out of band over HTTPS, not in a message; for example, the user
    /// signs in on a page of the agent. The executor waits for that and then calls
    /// [`start`](Self::start) or another update; streams stay open. If client and agent have agreed
    /// on a message as the answer, wait for it with [`ask_auth`](Self::ask_auth), or return and let
    /// it rerun the executor.
    ///
    /// # Responsibilities of the agent
    ///
    /// - Neither the state change nor a message is a permission by itself: only the agreed channel
    ///   counts (spec §7.6.4).
    /// - The agent defines and enforces the scope, duration and subject of the authorization. It
    ///   covers what was asked for, and no later message, context or task unless that was agreed.
    /// - Credentials inside a message must be bound to the requesting agent and encrypted for it:
    ///   intermediate agents see the message too (spec §7.6.3).
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn require_auth(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        self.status(TaskState::AuthRequired, message).await
    }

    /// Sends a whole artifact. One with the same id is replaced.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.put_chunk(artifact, false, true)?;
        self.accepts_more().await
    }

    /// Sends the first chunk of an artifact.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn begin(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.put_chunk(artifact, false, false)?;
        self.accepts_more().await
    }

    /// Sends a further chunk of the artifact with the same id.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn append(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.put_chunk(artifact, true, false)?;
        self.accepts_more().await
    }

    /// Sends the last chunk of the artifact with the same id.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn append_last(&self, artifact: Artifact) -> Result<(), UpdateError> {
        self.put_chunk(artifact, true, true)?;
        self.accepts_more().await
    }

    /// Joins the adjacent text parts of an artifact in the stored task, so that a text that was
    /// streamed in many chunks is read as one part. Its readers get no event; it takes effect with
    /// the next status, which it should directly precede.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub fn join(&self, artifact_id: &str) -> Result<(), UpdateError> {
        self.handle.change_silently(|live| live.join_parts(self.run, artifact_id))
    }

    /// Forwards an artifact update, for example of another agent. The engine sets the ids of the
    /// task.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn artifact_update(
        &self,
        update: TaskArtifactUpdateEvent,
    ) -> Result<(), UpdateError> {
        self.put_artifact(update)?;
        self.accepts_more().await
    }

    /// Forwards a status update, for example of another agent. The engine sets the ids of the task,
    /// and the time if it is missing.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn status_update(&self, update: TaskStatusUpdateEvent) -> Result<(), UpdateError> {
        let position = self.set_status(update)?;
        self.stored(position).await
    }

    /// Responds with a message in place of a task. If the task is already visible, it is completed
    /// with that message.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn reply(&self, message: impl Into<StatusMessage>) -> Result<(), UpdateError> {
        let message = message.into().0;
        let mut message = message.unwrap_or_else(|| Message::new(Role::Agent, Vec::new()));
        self.extensions.iter().for_each(|extensions| extensions.reply(&mut message));
        self.push_reply(message).await
    }

    /// Requests input, INPUT_REQUIRED, and returns the next message: a conversation as
    /// straight-line code.
    ///
    /// The conversation outlives the wait. After [`ask_timeout`](crate::EngineConfig::ask_timeout),
    /// a restart or a move to another node there is no executor; the task stays INPUT_REQUIRED. The
    /// next message is still the answer to the question: `execute` runs again, with the message that
    /// began the run. Until it reaches the question it repeats the earlier run
    /// ([`is_replay`](crate::RequestContext::is_replay)): `ask` returns the recorded answers without
    /// asking, and updates are dropped, because callers have them already.
    ///
    /// # What the executor has to repeat
    ///
    /// The same questions in the same order. What else it does before a question is done again, and
    /// may have another result; wrap what must happen only once, such as a booking or a random
    /// choice, in [`once`](Self::once).
    ///
    /// - A run that asks more than the earlier one goes on with the new question.
    /// - A run that returns or completes the task before it has repeated all recorded questions and
    ///   results fails the task; the update fails with [`Diverged`](UpdateError::Diverged). It may
    ///   fail or reject the task at any time.
    /// - A question that was given up, as by `select!`, has to be given up again once the work has
    ///   gone on: after [`start`](Self::start) or another status, a question or a named result. It
    ///   is not shown again. If the process crashed before that, it is asked again. Poll it first
    ///   (`biased;`): a run that skips it takes the next question for it.
    /// - If the journal or the history of the task is damaged, the task is FAILED.
    ///
    /// Ask one question at a time.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn ask(&self, question: impl Into<StatusMessage>) -> Result<Message, UpdateError> {
        self.ask_until(question, std::future::pending()).await
    }

    /// Requests input like [`ask`](Self::ask), but waits only until `expiry` is ready. Then, as after
    /// [`ask_timeout`](crate::EngineConfig::ask_timeout), the executor is dropped and the task stays
    /// INPUT_REQUIRED; the answer runs the executor again. For executors that hold something scarce
    /// while they wait, such as a process.
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn ask_until(
        &self,
        question: impl Into<StatusMessage>,
        expiry: impl Future<Output = ()>,
    ) -> Result<Message, UpdateError> {
        self.ask_in(TaskState::InputRequired, question.into().0, expiry).await
    }

    /// Requests authorization like [`require_auth`](Self::require_auth), and returns the next
    /// message. Dropping the future, when the authorization arrives out of band, has no effect:
    ///
    /// ```
    /// # use a2a_kit_operations::{TaskUpdater, UpdateError};
    /// # async fn example(updates: TaskUpdater, approved: impl Future<Output = ()>) -> Result<(), UpdateError> {
    /// tokio::select! {
    ///     biased;
    ///     message = updates.ask_auth("Approve it at https://agent.example/approve") => {
    ///         if message?.text() == "never mind" {
    ///             return updates.reject("As you wish.").await;
    ///         }
    ///     }
    ///     () = approved => {}
    /// }
    /// updates.start().await
    /// # }
    /// ```
    ///
    /// The conversation outlives the wait, as in [`ask`](Self::ask). With
    /// [`Recovery::Rerun`](crate::Recovery::Rerun) the executor also runs again without a message, so
    /// that it notices an authorization out of band: it waits without asking again. An authorization
    /// that it noticed before, and that [`start`](Self::start) has shown, is awaited again without
    /// the question: keep it where a later run finds it, as in a table, or record it with
    /// [`once`](Self::once).
    ///
    /// # Errors
    ///
    /// Any [`UpdateError`].
    pub async fn ask_auth(
        &self,
        question: impl Into<StatusMessage>,
    ) -> Result<Message, UpdateError> {
        self.ask_in(TaskState::AuthRequired, question.into().0, std::future::pending()).await
    }

    /// Does something once in a run, however often the run is [repeated](Self::ask) or
    /// [rerun](crate::Recovery::Rerun): stores the result before it returns, and later returns that
    /// in place of doing the work. Needed for effects and for results that may differ the next time:
    ///
    /// ```
    /// # use a2a_kit_operations::{BoxError, TaskUpdater};
    /// # struct Flights;
    /// # impl Flights {
    /// #     async fn book(&self, city: &str) -> Result<String, std::io::Error> { Ok(city.into()) }
    /// # }
    /// # async fn example(flights: Flights, updates: TaskUpdater) -> Result<(), BoxError> {
    /// let city = updates.ask("Where to?").await?;
    /// let booking = updates.once("flight", flights.book(&city.text())).await?;
    /// let seat = updates.ask(format!("{booking} is booked. Which seat?")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The name is unique in the run; with a repeated name, the results are returned in the order of
    /// the first run. The work is repeated only if it failed, or if the process crashed, or lost its
    /// lease, before the result was stored; it does not begin on a node without a
    /// [current lease](Self::check_lease). Results count toward
    /// [`max_journal_bytes`](crate::TaskLimits::max_journal_bytes). The task becomes visible.
    ///
    /// # Errors
    ///
    /// The error of the work, which is not stored; any [`UpdateError`]; a result that is not valid
    /// JSON, or not of this type in a later version of the program.
    pub async fn once<T, E>(
        &self,
        name: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, BoxError>
    where
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
    {
        if let Some(value) = self.handle.change_silently(|live| live.recall(self.run, name)) {
            return Ok(serde_json::from_value(value)?);
        }
        self.check_lease()?;
        let result = work.await.map_err(Into::into)?;
        let value = serde_json::to_value(&result)?;
        self.record(name, value).await?;
        Ok(result)
    }

    /// Fails if this node may no longer act for the task: its lease has expired, or another node
    /// holds it. An executor that does not notice is dropped within seconds; a process that was
    /// paused, or cut off from its store, checks here before an effect that must not happen twice.
    /// [`once`](Self::once) does so by itself.
    ///
    /// # Errors
    ///
    /// [`Superseded`](UpdateError::Superseded) or [`Store`](UpdateError::Store).
    pub fn check_lease(&self) -> Result<(), UpdateError> {
        let is_expired = |since| self.handle.inner.is_expired(since);
        self.handle.lock().check_lease(self.run, is_expired)
    }

    async fn ask_in(
        &self,
        state: TaskState,
        question: Option<Message>,
        expiry: impl Future<Output = ()>,
    ) -> Result<Message, UpdateError> {
        let mut question = update(state, question);
        self.extend_status(&mut question);
        self.push_question(question, expiry).await
    }
}

/// A status update without a time and ids.
pub(crate) fn update(state: TaskState, message: Option<Message>) -> TaskStatusUpdateEvent {
    let status = Some(TaskStatus { state: state.into(), message, timestamp: None });
    TaskStatusUpdateEvent { status, ..TaskStatusUpdateEvent::default() }
}
