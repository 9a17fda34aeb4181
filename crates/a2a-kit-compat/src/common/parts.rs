//! Visits the statuses, the messages and the parts of tasks and responses.

use std::sync::Arc;

use a2a_core::v1::{
    Artifact, Message, Part, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    TaskStatus, send_message_response, stream_response::Payload,
};

use crate::{AnyRequest, AnyResponse};

/// A function that changes a status, a message or a part.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Status(fn(&mut TaskStatus)),
    Message(fn(&mut Message)),
    Part(fn(&mut Part)),
}

/// A value with statuses, messages and parts.
pub(crate) trait Parts {
    /// Applies a function to each of its kind.
    fn apply(&mut self, change: Change);

    /// Applies a function to each part.
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.apply(Change::Part(change));
    }

    /// Applies a function to each status.
    fn each_status(&mut self, change: fn(&mut TaskStatus)) {
        self.apply(Change::Status(change));
    }

    /// Applies a function to each message.
    fn each_message(&mut self, change: fn(&mut Message)) {
        self.apply(Change::Message(change));
    }
}

impl Parts for Part {
    fn apply(&mut self, change: Change) {
        if let Change::Part(change) = change {
            change(self);
        }
    }
}

impl Parts for Message {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Status(_) => {}
            Change::Message(change) => change(self),
            Change::Part(_) => self.parts.apply(change),
        }
    }
}

impl Parts for Artifact {
    fn apply(&mut self, change: Change) {
        self.parts.apply(change);
    }
}

impl Parts for TaskStatus {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Status(change) => change(self),
            Change::Message(_) | Change::Part(_) => self.message.apply(change),
        }
    }
}

impl Parts for Task {
    fn apply(&mut self, change: Change) {
        self.status.apply(change);
        self.artifacts.apply(change);
        self.history.apply(change);
    }
}

impl Parts for StreamResponse {
    fn apply(&mut self, change: Change) {
        match &mut self.payload {
            Some(Payload::Task(task)) => task.apply(change),
            Some(Payload::Message(message)) => message.apply(change),
            Some(Payload::StatusUpdate(update)) => update.status.apply(change),
            Some(Payload::ArtifactUpdate(update)) => update.artifact.apply(change),
            None => {}
        }
    }
}

impl Parts for SendMessageRequest {
    fn apply(&mut self, change: Change) {
        self.message.apply(change);
    }
}

impl Parts for SendMessageResponse {
    fn apply(&mut self, change: Change) {
        match &mut self.payload {
            Some(send_message_response::Payload::Task(task)) => task.apply(change),
            Some(send_message_response::Payload::Message(message)) => message.apply(change),
            None => {}
        }
    }
}

impl Parts for AnyRequest {
    fn apply(&mut self, change: Change) {
        if let Self::SendMessage(request) | Self::SendStreamingMessage(request) = self {
            request.apply(change);
        }
    }
}

impl Parts for AnyResponse {
    fn apply(&mut self, change: Change) {
        match self {
            Self::Sent(sent) => sent.apply(change),
            Self::Task(task) => Arc::make_mut(task).apply(change),
            Self::Tasks(page) => page.tasks.apply(change),
            _ => {}
        }
    }
}

impl<T: Parts> Parts for Vec<T> {
    fn apply(&mut self, change: Change) {
        self.iter_mut().for_each(|one| one.apply(change));
    }
}

impl<T: Parts> Parts for Option<T> {
    fn apply(&mut self, change: Change) {
        self.iter_mut().for_each(|one| one.apply(change));
    }
}
