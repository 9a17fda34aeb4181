//! How the answer of a model is made, in artifacts beside it.

use a2a_core::{
    Artifact,
    v1::AgentExtension,
    well_known::{Struct, Value},
};
use async_trait::async_trait;

use super::{Extension, note};

/// Declares that tasks show how their answer is made, to callers that activate it: what the model
/// thinks, the calls of its tools, and notices.
///
/// These are artifacts that are [marked](Self::mark), and no part of the answer. The executor makes
/// them: it knows what happens.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelEventsExtension;

impl ModelEventsExtension {
    /// The URI of the extension, and the metadata key.
    pub const URI: &str = "urn:x-a2a:model-events:1";

    /// Marks an artifact, or a chunk of one, as an event of a kind, such as `thinking`.
    pub fn mark(artifact: &mut Artifact, kind: &str) {
        note(&mut artifact.extensions, Self::URI);
        let value = Struct::from([("kind", Value::from(kind))]);
        artifact.metadata.get_or_insert_default().insert(Self::URI, value);
    }

    /// The kind of an event, such as `thinking`; `None` for an artifact that is part of the answer.
    pub fn kind(artifact: &Artifact) -> Option<&str> {
        if !artifact.extensions.iter().any(|uri| uri == Self::URI) {
            return None;
        }
        let value = artifact.metadata.as_ref().and_then(|metadata| metadata.get(Self::URI));
        Some(value.and_then(|value| value.as_object()?.get("kind")?.as_str()).unwrap_or_default())
    }
}

#[async_trait]
impl Extension for ModelEventsExtension {
    fn declaration(&self) -> AgentExtension {
        AgentExtension::new(Self::URI, "Shows how an answer is made: thinking, tools and notices")
    }
}
