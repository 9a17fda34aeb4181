//! Checkpoints of the work on a task, for the node that takes it over.

use std::{collections::BTreeMap, sync::Arc};

use a2a_core::{ExtensionSet, Message, ProtocolVersion, well_known::Struct};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::turn::TurnRequest;
use crate::{CallContext, Caller};

/// A turn as stored in a checkpoint, and as sent to the node that holds the task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// The message, unless it is in the history of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Message>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Struct>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accepted_output_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    joins_from: Option<usize>,
    #[serde(flatten)]
    context: Context,
}

/// The context of a call without its credentials: of the caller, the subject and the scopes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Context {
    version: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
}

impl Context {
    pub(crate) fn of(context: &CallContext) -> Self {
        Self {
            version: context.version.to_string(),
            extensions: context.extensions.iter().map(str::to_owned).collect(),
            parameters: context.parameters.clone(),
            caller: context.caller.subject().map(str::to_owned),
            scopes: context.caller.scopes().iter().cloned().collect(),
        }
    }

    pub(crate) fn read(self) -> CallContext {
        let caller = self.caller.map_or(Caller::ANONYMOUS, Caller::authenticated);
        let caller = if self.scopes.is_empty() { caller } else { caller.with_scopes(self.scopes) };
        CallContext {
            version: self.version.parse().unwrap_or(ProtocolVersion::LATEST),
            extensions: self.extensions.into_iter().collect::<ExtensionSet>(),
            parameters: self.parameters,
            caller,
            ..CallContext::default()
        }
    }
}

impl Checkpoint {
    pub(crate) fn of(turn: &TurnRequest, message: Option<Message>) -> Self {
        Self {
            message,
            metadata: turn.metadata.as_deref().cloned(),
            accepted_output_modes: turn.accepted_output_modes.to_vec(),
            key: turn.key.as_deref().map(str::to_owned),
            joins_from: turn.joins_from,
            context: Context::of(&turn.call),
        }
    }

    /// Restores the turn.
    pub(crate) fn into_turn(self, message: Message) -> TurnRequest {
        TurnRequest {
            message: Arc::new(message),
            call: Arc::new(self.context.read()),
            accepted_output_modes: self.accepted_output_modes.into(),
            metadata: self.metadata.map(Arc::new),
            streams: false,
            key: self.key.map(Arc::from),
            joins_from: self.joins_from,
            rerun: false,
            is_lost: false,
            commands: Vec::new(),
        }
    }
}

pub(crate) fn encode(value: &impl Serialize) -> Bytes {
    // Map keys are strings, and nothing else here can fail.
    serde_json::to_vec(value).unwrap_or_default().into()
}
