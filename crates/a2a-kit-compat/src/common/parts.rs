//! Visits the parts of tasks, messages and artifacts.

use std::sync::Arc;

use a2a_core::v1::{
    Artifact, Message, Part, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    TaskStatus, send_message_response, stream_response::Payload,
};

use crate::{AnyRequest, AnyResponse};

/// A value with parts.
pub(crate) trait Parts {
    /// Applies a function to each part.
    fn each_part(&mut self, change: fn(&mut Part));
}

impl Parts for Part {
    fn each_part(&mut self, change: fn(&mut Part)) {
        change(self);
    }
}

impl Parts for Message {
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.parts.each_part(change);
    }
}

impl Parts for Artifact {
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.parts.each_part(change);
    }
}

impl Parts for TaskStatus {
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.message.each_part(change);
    }
}

impl Parts for Task {
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.status.each_part(change);
        self.artifacts.each_part(change);
        self.history.each_part(change);
    }
}

impl Parts for StreamResponse {
    fn each_part(&mut self, change: fn(&mut Part)) {
        match &mut self.payload {
            Some(Payload::Task(task)) => task.each_part(change),
            Some(Payload::Message(message)) => message.each_part(change),
            Some(Payload::StatusUpdate(update)) => update.status.each_part(change),
            Some(Payload::ArtifactUpdate(update)) => update.artifact.each_part(change),
            None => {}
        }
    }
}

impl Parts for SendMessageRequest {
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.message.each_part(change);
    }
}

impl Parts for SendMessageResponse {
    fn each_part(&mut self, change: fn(&mut Part)) {
        match &mut self.payload {
            Some(send_message_response::Payload::Task(task)) => task.each_part(change),
            Some(send_message_response::Payload::Message(message)) => message.each_part(change),
            None => {}
        }
    }
}

impl Parts for AnyRequest {
    fn each_part(&mut self, change: fn(&mut Part)) {
        if let Self::SendMessage(request) | Self::SendStreamingMessage(request) = self {
            request.each_part(change);
        }
    }
}

impl Parts for AnyResponse {
    fn each_part(&mut self, change: fn(&mut Part)) {
        match self {
            Self::Sent(sent) => sent.each_part(change),
            Self::Task(task) => Arc::make_mut(task).each_part(change),
            Self::Tasks(page) => page.tasks.each_part(change),
            Self::Config(_) | Self::Configs(_) | Self::Deleted | Self::Card(_) => {}
        }
    }
}

impl<T: Parts> Parts for Vec<T> {
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.iter_mut().for_each(|one| one.each_part(change));
    }
}

impl<T: Parts> Parts for Option<T> {
    fn each_part(&mut self, change: fn(&mut Part)) {
        self.iter_mut().for_each(|one| one.each_part(change));
    }
}
