//! Requests, independent of the binding.

use a2a_core::Operation;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    /// A subscription that resumes after an event.
    Resume,
    CreateConfig,
    GetConfig,
    ListConfigs,
    DeleteConfig,
    Card,
}

impl Probe {
    /// The requests that name a task.
    pub const NAMING: [Self; 10] = [
        Self::Send,
        Self::Stream,
        Self::Get,
        Self::Cancel,
        Self::Subscribe,
        Self::Resume,
        Self::CreateConfig,
        Self::GetConfig,
        Self::ListConfigs,
        Self::DeleteConfig,
    ];

    pub fn operation(self) -> Operation {
        match self {
            Self::Send => Operation::SendMessage,
            Self::Stream => Operation::SendStreamingMessage,
            Self::Get => Operation::GetTask,
            Self::List => Operation::ListTasks,
            Self::Cancel => Operation::CancelTask,
            Self::Subscribe | Self::Resume => Operation::SubscribeToTask,
            Self::CreateConfig => Operation::CreateTaskPushNotificationConfig,
            Self::GetConfig => Operation::GetTaskPushNotificationConfig,
            Self::ListConfigs => Operation::ListTaskPushNotificationConfigs,
            Self::DeleteConfig => Operation::DeleteTaskPushNotificationConfig,
            Self::Card => Operation::GetExtendedAgentCard,
        }
    }

    /// Whether the response may be an unlimited stream.
    pub fn streams(self) -> bool {
        matches!(self, Self::Stream | Self::Subscribe | Self::Resume)
    }
}

/// The parameters of a request. Empty ones are omitted.
#[derive(Clone, Debug, Default)]
pub struct Target {
    pub tenant: String,
    pub task: String,
    pub context: String,
    /// Another task that a message refers to.
    pub reference: String,
    pub config: String,
    pub webhook: String,
    pub text: String,
    pub page_token: String,
    pub page_size: Option<u32>,
    pub last_event_id: Option<u64>,
    pub idempotency_key: String,
}

impl Target {
    /// Additional headers for the target.
    pub(super) fn headers(&self, probe: Probe) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        let id = self.last_event_id.or((probe == Probe::Resume).then_some(1));
        if let Some(id) = id {
            headers.push(("last-event-id", id.to_string()));
        }
        if !self.idempotency_key.is_empty() {
            headers.push(("idempotency-key", self.idempotency_key.clone()));
        }
        headers
    }
}
