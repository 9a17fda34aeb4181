//! Registered and active extensions.

use std::sync::Arc;

use a2a_core::{
    AgentCard, Message, Result,
    v1::{AgentExtension, SendMessageRequest, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
};

use super::{Extension, Turn};
use crate::CallContext;

/// The extensions of an engine, in hook order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registered(Vec<(AgentExtension, Arc<dyn Extension>)>);

impl Registered {
    /// Adds an extension. One with the same URI is replaced.
    pub(crate) fn add(&mut self, extension: Arc<dyn Extension>) {
        let declaration = extension.declaration();
        assert!(
            !declaration.uri.is_empty() && !declaration.uri.contains([',', ' ']),
            "invalid extension URI {:?}",
            declaration.uri
        );
        match self.0.iter_mut().find(|(known, _)| known.uri == declaration.uri) {
            Some(known) => *known = (declaration, extension),
            None => self.0.push((declaration, extension)),
        }
    }

    /// Declares the extensions in a card that does not declare them itself.
    pub(crate) fn declare(&self, mut card: AgentCard) -> AgentCard {
        for (declaration, _) in &self.0 {
            if !card.extensions().iter().any(|known| known.uri == declaration.uri) {
                card = card.with_extension(declaration.clone());
            }
        }
        card
    }

    /// Runs the message hooks of the requested extensions.
    pub(crate) async fn receive(
        &self,
        call: &mut CallContext,
        request: &mut SendMessageRequest,
    ) -> Result<()> {
        for (declaration, extension) in &self.0 {
            if call.extensions.contains(&declaration.uri) {
                extension.receive(call, request).await?;
            }
        }
        Ok(())
    }

    /// The requested extensions, with the current message.
    pub(crate) fn active(&self, call: &Arc<CallContext>, message: &Arc<Message>) -> Option<Active> {
        if call.extensions.is_empty() {
            return None;
        }
        let asked =
            |(declaration, _): &&(AgentExtension, _)| call.extensions.contains(&declaration.uri);
        let extensions: Arc<[_]> =
            self.0.iter().filter(asked).map(|(_, extension)| Arc::clone(extension)).collect();
        let (call, message) = (Arc::clone(call), Arc::clone(message));
        (!extensions.is_empty()).then_some(Active { extensions, call, message })
    }
}

/// The extensions that are active during a run.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    extensions: Arc<[Arc<dyn Extension>]>,
    call: Arc<CallContext>,
    message: Arc<Message>,
}

impl Active {
    fn each(&self, mut hook: impl FnMut(&dyn Extension, &Turn<'_>)) {
        let turn = Turn { message: &self.message, call: &self.call };
        self.extensions.iter().for_each(|extension| hook(&**extension, &turn));
    }

    pub(crate) fn status(&self, update: &mut TaskStatusUpdateEvent) {
        self.each(|extension, turn| extension.status(turn, update));
    }

    pub(crate) fn artifact(&self, update: &mut TaskArtifactUpdateEvent) {
        self.each(|extension, turn| extension.artifact(turn, update));
    }

    pub(crate) fn reply(&self, message: &mut Message) {
        self.each(|extension, turn| extension.reply(turn, message));
    }
}
