//! An agent, called over one binding.

use std::time::Duration;

use a2a_core::{AgentCard, Message, ProtocolVersion, Task, TaskState, card, v1::ListTasksRequest};
use a2a_kit_client::{Client, Events, MessageRequest, Transport};
use a2a_kit_operations::Event;

use crate::expect::Result;

/// Poll interval.
const POLL: Duration = Duration::from_millis(50);

/// An agent over one binding.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) client: Client,
    pub(crate) card: AgentCard,
    /// The revision of the interface.
    pub(crate) version: ProtocolVersion,
    /// The revision of the agent, which differs behind a gateway.
    behind: ProtocolVersion,
}

impl Peer {
    /// Reads the card and chooses the interface of `binding` and `version`.
    pub(crate) async fn connect(
        card: &str,
        binding: Transport,
        version: ProtocolVersion,
        behind: ProtocolVersion,
    ) -> Result<Self> {
        let client = Client::builder().only([binding]).version(version).connect(card).await?;
        let card = (*client.card()).clone();
        Ok(Self { client, card, version, behind })
    }

    /// Returns whether it is of an older revision.
    pub(crate) fn is_older(&self) -> bool {
        self.behind < ProtocolVersion::LATEST
    }

    /// Returns whether conversions are lossy, as in the SDKs of older revisions wherever they
    /// convert objects to protobuf.
    pub(crate) fn is_lossy(&self) -> bool {
        let binding = self.client.interface().map(|interface| &*interface.protocol_binding);
        self.version < ProtocolVersion::LATEST && binding != Some(card::JSONRPC)
    }

    /// Sends and expects a task.
    pub(crate) async fn task(&self, message: impl Into<MessageRequest>) -> Result<Task> {
        let outcome = self.client.send(message).await?;
        outcome.task().cloned().ok_or_else(|| format!("no task, but {outcome:?}").into())
    }

    /// Sends and expects a task with its history, which a response to a send may omit.
    pub(crate) async fn task_with_history(
        &self,
        message: impl Into<MessageRequest>,
    ) -> Result<Task> {
        let task = self.task(message).await?;
        if task.history.is_empty() {
            return Ok((*self.client.get(&task.id).await?).clone());
        }
        Ok(task)
    }

    /// A task that was returned before its end.
    pub(crate) async fn answered_at_once(&self, text: &str) -> Result<Task> {
        self.task(MessageRequest::from(text).returning_immediately()).await
    }

    /// A task that has not ended.
    pub(crate) async fn started(&self, text: &str) -> Result<Task> {
        if self.behind > ProtocolVersion::V0_2 {
            return self.answered_at_once(text).await;
        }
        // Agents of 0.2 may respond to a send only at the end of the task.
        let mut events = self.client.stream(text).await?;
        let first = events.next().await.ok_or("the stream ended immediately")??;
        let task = first.task().cloned().ok_or("the first event is no task")?;
        // The task only runs while its stream is read.
        tokio::spawn(drain(events));
        Ok(task)
    }

    /// The task once it is in `state`.
    pub(crate) async fn until(&self, id: &str, state: TaskState) -> Result<Task> {
        loop {
            let task = self.client.get(id).await?;
            if task.state() == state {
                return Ok((*task).clone());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Tasks of a new context, oldest first.
    pub(crate) async fn several(&self, count: usize) -> Result<(String, Vec<Task>)> {
        let context_id = a2a_core::fresh_id();
        let mut tasks = Vec::new();
        for index in 0..count {
            let message = MessageRequest::from(format!("echo {index}")).in_context(&context_id);
            tasks.push(self.task(message).await?);
        }
        Ok((context_id, tasks))
    }

    /// All tasks that match `filter`.
    pub(crate) async fn listed(&self, filter: ListTasksRequest) -> Result<Vec<Task>> {
        Ok(self.client.list_page(filter).await?.tasks)
    }
}

/// Reads a stream to its end.
pub(crate) async fn drain(mut events: Events) -> a2a_core::Result<Vec<Event>> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(event?);
    }
    Ok(seen)
}

/// A message that continues `task`.
pub(crate) fn answer(task: &Task, text: &str) -> Message {
    Message::user(text).with_task_id(&task.id).with_context_id(&task.context_id)
}

/// The ids of `tasks`.
pub(crate) fn ids(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}
