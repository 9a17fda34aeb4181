//! Constructors and accessors of messages and artifacts.

use crate::{
    fresh_id,
    v1::{Artifact, Message, Part, Role},
    well_known::Struct,
};

impl Message {
    /// Creates a message of the user, with a new id.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::new(Role::User, vec![part.into()])
    }

    /// Creates a message of the agent, with a new id.
    pub fn agent(part: impl Into<Part>) -> Self {
        Self::new(Role::Agent, vec![part.into()])
    }

    /// Creates a message with any number of parts, and a new id.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { message_id: fresh_id(), role: role.into(), parts, ..Self::default() }
    }

    /// Adds a part.
    #[must_use]
    pub fn with_part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Sets the task that the message continues.
    #[must_use]
    pub fn with_task_id(mut self, task_id: impl Into<String>) -> Self {
        self.task_id = task_id.into();
        self
    }

    /// Sets the context of the message.
    #[must_use]
    pub fn with_context_id(mut self, context_id: impl Into<String>) -> Self {
        self.context_id = context_id.into();
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Struct) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// All text parts, joined.
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

impl Artifact {
    /// Creates an artifact with a name and a new id.
    pub fn new(name: impl Into<String>, part: impl Into<Part>) -> Self {
        Self {
            artifact_id: fresh_id(),
            name: name.into(),
            parts: vec![part.into()],
            ..Self::default()
        }
    }

    /// Sets the id, which must be unique in the task.
    #[must_use]
    pub fn with_id(mut self, artifact_id: impl Into<String>) -> Self {
        self.artifact_id = artifact_id.into();
        self
    }

    /// Adds a part.
    #[must_use]
    pub fn with_part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// All text parts, joined.
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

fn join_text(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}
