//! Extensions of the protocol: what an agent offers beyond it, for those who ask (spec §4.6).

mod active;
pub(crate) mod idempotency_key;
mod timestamps;
mod trace_context;

use std::fmt;

use a2a_core::{
    Message, Result,
    v1::{AgentExtension, SendMessageRequest, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
};
use async_trait::async_trait;

pub use self::idempotency_key::IDEMPOTENCY_KEY;
pub(crate) use active::{Active, Registered};
pub use timestamps::Timestamps;
pub use trace_context::TraceContext;

use crate::CallContext;

/// An extension, for [`EngineBuilder::extension`](crate::engine::EngineBuilder::extension).
///
/// The engine declares it in the card, refuses callers that don't ask for it where it is required
/// (`ExtensionSupportRequired`, -32008), and names it among the activated ones of each answer to a
/// caller that asks. The hooks are called for requests that ask for it by its exact URI, and for
/// no others: where it is not asked for, the agent is as it would be without it.
///
/// Several extensions are called in the order in which they were given to the engine. What a hook
/// adds belongs into metadata, under names that begin with the URI or are otherwise the
/// extension's own; the protocol's members keep their meaning (spec §4.6).
///
/// ```
/// use a2a_core::{Error, Result, v1::{AgentExtension, SendMessageRequest}};
/// use a2a_operations::{CallContext, extension::Extension};
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
///         // It came from anybody: what is in there is looked at before anything is made of it.
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
    /// How the card declares it: its URI, what it is for, whether callers have to ask for it, and
    /// parameters. Asked for once, when the engine is made.
    fn declaration(&self) -> AgentExtension;

    /// Looks at a message before anything is done for it, and may change it or what came with it.
    /// A message that is sent again is looked at again.
    ///
    /// The caller is who it is when this is called: nothing here makes it another one's request.
    ///
    /// # Errors
    ///
    /// What is returned is the answer to the request, and nothing is done for it.
    async fn receive(
        &self,
        call: &mut CallContext,
        request: &mut SendMessageRequest,
    ) -> Result<()> {
        let _ = (call, request);
        Ok(())
    }

    /// Looks at a status that the executor sets, with its message, before it is stored. The ids
    /// of the task are put in afterwards. What the engine says by itself does not come by here.
    fn status(&self, turn: &Turn<'_>, update: &mut TaskStatusUpdateEvent) {
        let _ = (turn, update);
    }

    /// Looks at an artifact of the executor, or a chunk of one, before it is stored.
    fn artifact(&self, turn: &Turn<'_>, update: &mut TaskArtifactUpdateEvent) {
        let _ = (turn, update);
    }

    /// Looks at a message that answers in place of a task.
    fn reply(&self, turn: &Turn<'_>, message: &mut Message) {
        let _ = (turn, message);
    }
}

/// The message that an executor was run for.
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

    /// What came with it.
    pub fn call(&self) -> &'a CallContext {
        self.call
    }
}

/// Notes in a list of `extensions` that one was used.
fn note(uris: &mut Vec<String>, uri: &str) {
    if !uris.iter().any(|known| known == uri) {
        uris.push(uri.to_owned());
    }
}
