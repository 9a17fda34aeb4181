//! Timestamps of messages and artifacts.

use a2a_core::{
    Message,
    v1::{AgentExtension, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    well_known::{Struct, Timestamp},
};
use async_trait::async_trait;

use super::{Extension, Turn, note};

/// Adds the creation time to each message and artifact of the agent, like the timestamp extension
/// of the protocol's samples.
///
/// The time is in the metadata under [`FIELD`](Self::FIELD), in UTC as RFC 3339. A time set by the
/// executor is kept. A chunk carries its own time, which becomes that of the artifact.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timestamps;

impl Timestamps {
    /// The URI of the extension.
    pub const URI: &str = "https://github.com/a2aproject/a2a-samples/extensions/timestamp/v1";

    /// The metadata key.
    pub const FIELD: &str = "github.com/a2aproject/a2a-samples/extensions/timestamp/v1/timestamp";

    /// Reads the creation time from metadata; `None` if it is missing or invalid.
    pub fn read(metadata: Option<&Struct>) -> Option<Timestamp> {
        metadata?.get(Self::FIELD)?.as_str()?.parse().ok()
    }

    /// Writes a time into metadata, also for clients.
    pub fn write(metadata: &mut Option<Struct>, time: Timestamp) {
        metadata.get_or_insert_default().insert(Self::FIELD, time.to_string());
    }

    fn stamp(metadata: &mut Option<Struct>, uris: &mut Vec<String>) {
        if Self::read(metadata.as_ref()).is_none() {
            Self::write(metadata, Timestamp::now());
        }
        note(uris, Self::URI);
    }
}

#[async_trait]
impl Extension for Timestamps {
    fn declaration(&self) -> AgentExtension {
        AgentExtension::new(Self::URI, "Says when each message and artifact was made")
    }

    fn status(&self, _: &Turn<'_>, update: &mut TaskStatusUpdateEvent) {
        let message = update.status.as_mut().and_then(|status| status.message.as_mut());
        if let Some(message) = message {
            Self::stamp(&mut message.metadata, &mut message.extensions);
        }
    }

    fn artifact(&self, _: &Turn<'_>, update: &mut TaskArtifactUpdateEvent) {
        if let Some(artifact) = &mut update.artifact {
            Self::stamp(&mut artifact.metadata, &mut artifact.extensions);
        }
    }

    fn reply(&self, _: &Turn<'_>, message: &mut Message) {
        Self::stamp(&mut message.metadata, &mut message.extensions);
    }
}
