//! Protocol extensions (spec §4.6).

#[cfg(feature = "engine")]
mod active;
mod delegation;
pub(crate) mod idempotency_key;
mod model_events;
mod timestamps;
mod trace_context;
mod usage;

use std::fmt;

use a2a_core::{
    Message, Result,
    v1::{AgentExtension, SendMessageRequest, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
};
use async_trait::async_trait;

pub use self::idempotency_key::IDEMPOTENCY_KEY;
#[cfg(feature = "engine")]
pub(crate) use active::{Active, Registered};
pub use delegation::Delegation;
pub use model_events::ModelEventsExtension;
pub use timestamps::Timestamps;
pub use trace_context::TraceContextExtension;
pub use usage::{Amount, Cost, DelegatedUsage, InvalidAmount, UsageExtension, UsageReport};

use crate::CallContext;

/// A protocol extension, for [`EngineBuilder::extension`](crate::EngineBuilder::extension).
///
/// The engine declares it in the card, rejects callers that do not request it if it is required
/// (`ExtensionSupportRequired`, -32008), and lists it among the activated extensions of the
/// response. The hooks run only for requests that name its exact URI; for others the agent behaves
/// as without it.
///
/// Extensions run in the order in which they were added to the engine. A hook adds data to
/// metadata, under names that begin with the URI or belong to the extension; protocol fields keep
/// their meaning (spec §4.6).
///
/// ```
/// use a2a_core::{Error, Result, v1::{AgentExtension, SendMessageRequest}};
/// use a2a_kit_operations::{CallContext, extension::Extension};
/// use async_trait::async_trait;
///
/// /// Takes messages that say in which language they want to be answered.
/// #[derive(Debug)]
/// struct Language;
///
/// const URI: &str = "https://example.com/extensions/language/v1";
///
/// #[async_trait]
/// impl Extension for Language {
///     fn declaration(&self) -> AgentExtension {
///         AgentExtension::new(URI, "Answers in the language that a message names")
///     }
///
///     async fn receive(&self, _: &mut CallContext, request: &mut SendMessageRequest) -> Result<()> {
///         // Untrusted input, so it is validated first.
///         let metadata = request.message.as_ref().and_then(|message| message.metadata.as_ref());
///         match metadata.and_then(|metadata| metadata.get(URI)) {
///             Some(language) if language.as_str().is_none_or(|text| text.len() != 2) => {
///                 Err(Error::invalid_params("message.metadata", "the language is not a code"))
///             }
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Extension: fmt::Debug + Send + Sync + 'static {
    /// The declaration in the card: URI, description, whether it is required, and parameters.
    /// Called once, when the engine is built.
    fn declaration(&self) -> AgentExtension;

    /// Inspects a message before it is processed, and may modify it or its context. A retried
    /// message is inspected again, and has to be modified in the same way.
    ///
    /// The caller is already authenticated, and cannot be changed here.
    ///
    /// # Errors
    ///
    /// The error is the response to the request, which is not processed.
    async fn receive(
        &self,
        call: &mut CallContext,
        request: &mut SendMessageRequest,
    ) -> Result<()> {
        let _ = (call, request);
        Ok(())
    }

    /// Inspects a status update of the executor before it is stored. The engine sets the ids of the
    /// task afterwards. Statuses set by the engine itself are not passed to the hook.
    fn status(&self, turn: &Turn<'_>, update: &mut TaskStatusUpdateEvent) {
        let _ = (turn, update);
    }

    /// Inspects an artifact of the executor, or a chunk, before it is stored.
    fn artifact(&self, turn: &Turn<'_>, update: &mut TaskArtifactUpdateEvent) {
        let _ = (turn, update);
    }

    /// Inspects a message that responds in place of a task.
    fn reply(&self, turn: &Turn<'_>, message: &mut Message) {
        let _ = (turn, message);
    }
}

/// The message of a run.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    message: &'a Message,
    call: &'a CallContext,
}

impl<'a> Turn<'a> {
    /// The message, as [`Extension::receive`] left it.
    pub fn message(&self) -> &'a Message {
        self.message
    }

    /// The call context of the message.
    pub fn call(&self) -> &'a CallContext {
        self.call
    }
}

/// Adds a URI to a list of `extensions`.
fn note(uris: &mut Vec<String>, uri: &str) {
    if !uris.iter().any(|known| known == uri) {
        uris.push(uri.to_owned());
    }
}
