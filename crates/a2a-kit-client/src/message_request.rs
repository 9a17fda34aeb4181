//! A request to send a message.

use a2a_core::{
    Message, Part,
    v1::{SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig},
    well_known::Struct,
};

/// A request to send a message, created from text, a part, a [`Message`] or a complete
/// [`SendMessageRequest`].
///
/// ```
/// use a2a_kit_client::MessageRequest;
///
/// let request = MessageRequest::from("What is the weather?").in_context("c-1").with_history(0);
/// # let _ = request;
/// ```
#[derive(Clone, Debug, Default)]
pub struct MessageRequest {
    request: SendMessageRequest,
}

impl MessageRequest {
    /// Continues an existing task.
    #[must_use]
    pub fn to_task(mut self, task_id: impl Into<String>) -> Self {
        self.message_mut().task_id = task_id.into();
        self
    }

    /// Continues a context, in a new task unless [`to_task`](Self::to_task) is set.
    #[must_use]
    pub fn in_context(mut self, context_id: impl Into<String>) -> Self {
        self.message_mut().context_id = context_id.into();
        self
    }

    /// Adds a reference to another task.
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

    /// Adds accepted output media types.
    #[must_use]
    pub fn accepting(mut self, modes: impl IntoIterator<Item: Into<String>>) -> Self {
        let modes = modes.into_iter().map(Into::into);
        self.configuration_mut().accepted_output_modes.extend(modes);
        self
    }

    /// Limits the history in the response to the newest `length` messages (spec §3.2.4).
    #[must_use]
    pub fn with_history(mut self, length: u16) -> Self {
        self.configuration_mut().history_length = Some(length.into());
        self
    }

    /// Requests a response as soon as the task exists, instead of waiting for its outcome.
    #[must_use]
    pub fn returning_immediately(mut self) -> Self {
        self.configuration_mut().return_immediately = true;
        self
    }

    /// Registers a webhook for the task.
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

    /// Returns the protocol request.
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

impl From<SendMessageRequest> for MessageRequest {
    fn from(request: SendMessageRequest) -> Self {
        Self { request }
    }
}

impl From<Message> for MessageRequest {
    fn from(message: Message) -> Self {
        Self { request: SendMessageRequest { message: Some(message), ..Default::default() } }
    }
}

impl From<Part> for MessageRequest {
    fn from(part: Part) -> Self {
        Message::user(part).into()
    }
}

impl From<&str> for MessageRequest {
    fn from(text: &str) -> Self {
        Message::user(text).into()
    }
}

impl From<String> for MessageRequest {
    fn from(text: String) -> Self {
        Message::user(text).into()
    }
}
