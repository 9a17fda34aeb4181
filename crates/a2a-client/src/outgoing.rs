//! A message on its way out, with what is wanted in return.

use a2a_core::{
    Message, Part,
    v1::{SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig},
    well_known::Struct,
};

/// A message to send: made of text, a part, a [`Message`] or a whole [`SendMessageRequest`], and
/// refined.
///
/// ```
/// use a2a_client::Outgoing;
///
/// let outgoing = Outgoing::from("What is the weather?").in_context("c-1").with_history(0);
/// # let _ = outgoing;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    request: SendMessageRequest,
}

impl Outgoing {
    /// Continues a task, which the agent made before.
    #[must_use]
    pub fn to_task(mut self, task_id: impl Into<String>) -> Self {
        self.message_mut().task_id = task_id.into();
        self
    }

    /// Continues a conversation; without [`to_task`](Self::to_task) in a new task.
    #[must_use]
    pub fn in_context(mut self, context_id: impl Into<String>) -> Self {
        self.message_mut().context_id = context_id.into();
        self
    }

    /// Refers to another task that the agent should look at.
    #[must_use]
    pub fn referring_to(mut self, task_id: impl Into<String>) -> Self {
        self.message_mut().reference_task_ids.push(task_id.into());
        self
    }

    /// Adds a part to the message.
    #[must_use]
    pub fn with_part(mut self, part: impl Into<Part>) -> Self {
        self.message_mut().parts.push(part.into());
        self
    }

    /// Says which media types the answer may have.
    #[must_use]
    pub fn accepting(mut self, modes: impl IntoIterator<Item: Into<String>>) -> Self {
        let modes = modes.into_iter().map(Into::into);
        self.configuration_mut().accepted_output_modes.extend(modes);
        self
    }

    /// Asks for at most so many messages of history in the answer (spec §3.2.4).
    #[must_use]
    pub fn with_history(mut self, length: u16) -> Self {
        self.configuration_mut().history_length = Some(length.into());
        self
    }

    /// Asks for an answer as soon as the task exists, instead of waiting for what comes of it.
    #[must_use]
    pub fn returning_immediately(mut self) -> Self {
        self.configuration_mut().return_immediately = true;
        self
    }

    /// Registers a webhook for the task that the message makes.
    #[must_use]
    pub fn with_push(mut self, webhook: TaskPushNotificationConfig) -> Self {
        self.configuration_mut().task_push_notification_config = Some(webhook);
        self
    }

    /// Attaches metadata to the request.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Struct) -> Self {
        self.request.metadata = Some(metadata);
        self
    }

    /// The request as it stands.
    pub fn into_request(self) -> SendMessageRequest {
        self.request
    }

    fn message_mut(&mut self) -> &mut Message {
        self.request.message.get_or_insert_with(|| Message::new(a2a_core::Role::User, Vec::new()))
    }

    fn configuration_mut(&mut self) -> &mut SendMessageConfiguration {
        self.request.configuration.get_or_insert_default()
    }
}

impl From<SendMessageRequest> for Outgoing {
    fn from(request: SendMessageRequest) -> Self {
        Self { request }
    }
}

impl From<Message> for Outgoing {
    fn from(message: Message) -> Self {
        Self { request: SendMessageRequest { message: Some(message), ..Default::default() } }
    }
}

impl From<Part> for Outgoing {
    fn from(part: Part) -> Self {
        Message::user(part).into()
    }
}

impl From<&str> for Outgoing {
    fn from(text: &str) -> Self {
        Message::user(text).into()
    }
}

impl From<String> for Outgoing {
    fn from(text: String) -> Self {
        Message::user(text).into()
    }
}
