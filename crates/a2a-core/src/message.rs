//! Constructors and accessors of messages and artifacts.

use serde::de::DeserializeOwned;

use crate::{
    Error, Result, fresh_id,
    v1::{Artifact, Message, Part, Role},
    well_known::{Struct, Value},
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
}

/// Defines what messages and artifacts have in common: parts.
macro_rules! parts {
    ($($type:ty),*) => {$(
        impl $type {
            /// Adds a part.
            #[must_use]
            pub fn with_part(mut self, part: impl Into<Part>) -> Self {
                self.parts.push(part.into());
                self
            }

            /// All text parts, joined.
            pub fn text(&self) -> String {
                self.parts.iter().filter_map(Part::as_text).collect()
            }

            /// The files: parts of inline bytes or with a URL.
            pub fn files(&self) -> impl Iterator<Item = &Part> {
                self.parts.iter().filter(|part| part.is_file())
            }

            /// The values of the data parts.
            pub fn data(&self) -> impl Iterator<Item = &Value> {
                self.parts.iter().filter_map(Part::as_data)
            }

            /// Reads the first data part as a value of a type.
            ///
            /// # Errors
            ///
            /// [`ErrorKind::InvalidParams`](crate::ErrorKind::InvalidParams) if there is no data
            /// part, or with the path of the invalid member.
            pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
                match self.parts.iter().find(|part| part.as_data().is_some()) {
                    Some(part) => part.parse(),
                    None => Err(Error::invalid_params("parts", "contain no data")),
                }
            }
        }
    )*};
}
parts!(Message, Artifact);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_a_message_are_found_by_kind() {
        let message = Message::user("See ")
            .with_part(Part::file("map.png", "image/png", vec![1]))
            .with_part(json!([1, 2]))
            .with_part(Part::url("https://example.com/a.pdf"))
            .with_part("both.");
        assert_eq!(message.text(), "See both.");
        let names: Vec<_> = message.files().map(|file| file.filename.as_str()).collect();
        assert_eq!(names, ["map.png", ""]);
        assert_eq!(message.data().count(), 1);
        assert_eq!(message.parse::<Vec<u8>>().unwrap(), [1, 2]);
        let error = Message::user("no data").parse::<Vec<u8>>().unwrap_err();
        assert_eq!(error.violations()[0].field, "parts");
    }
}
