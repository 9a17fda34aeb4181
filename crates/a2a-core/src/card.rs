//! Agent cards: constructors, and what a client chooses by.

use crate::v1::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
};

/// `AgentInterface.protocol_binding` of the JSON-RPC binding.
pub const JSONRPC: &str = "JSONRPC";
/// `AgentInterface.protocol_binding` of the HTTP+JSON binding.
pub const HTTP_JSON: &str = "HTTP+JSON";
/// `AgentInterface.protocol_binding` of the gRPC binding.
pub const GRPC: &str = "GRPC";

impl AgentCard {
    /// Creates a card for an agent that takes and gives text and streams.
    ///
    /// Interfaces are added by the server that serves it.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            version: "1.0.0".into(),
            capabilities: Some(AgentCapabilities {
                streaming: Some(true),
                ..AgentCapabilities::default()
            }),
            default_input_modes: vec!["text/plain".into()],
            default_output_modes: vec!["text/plain".into()],
            ..Self::default()
        }
    }

    /// Sets the version of the agent.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Says who offers the agent.
    #[must_use]
    pub fn with_provider(
        mut self,
        organization: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {
        self.provider = Some(AgentProvider { organization: organization.into(), url: url.into() });
        self
    }

    /// Adds a skill.
    #[must_use]
    pub fn with_skill(mut self, skill: AgentSkill) -> Self {
        self.skills.push(skill);
        self
    }

    /// Adds an interface, behind those that are there.
    #[must_use]
    pub fn with_interface(mut self, binding: &str, url: impl Into<String>) -> Self {
        self.supported_interfaces.push(AgentInterface {
            url: url.into(),
            protocol_binding: binding.into(),
            protocol_version: crate::ProtocolVersion::LATEST.to_string(),
            ..AgentInterface::default()
        });
        self
    }

    /// Replaces the media types that the agent takes.
    #[must_use]
    pub fn with_input_modes(mut self, modes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.default_input_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Replaces the media types that the agent gives.
    #[must_use]
    pub fn with_output_modes(mut self, modes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.default_output_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Says whether the streaming operations work.
    #[must_use]
    pub fn with_streaming(mut self, streaming: bool) -> Self {
        self.capabilities_mut().streaming = Some(streaming);
        self
    }

    /// Says whether webhooks are called.
    #[must_use]
    pub fn with_push_notifications(mut self, push_notifications: bool) -> Self {
        self.capabilities_mut().push_notifications = Some(push_notifications);
        self
    }

    /// Says whether there is a card for authenticated callers.
    #[must_use]
    pub fn with_extended_card(mut self, extended_card: bool) -> Self {
        self.capabilities_mut().extended_agent_card = Some(extended_card);
        self
    }

    /// Declares an extension.
    #[must_use]
    pub fn with_extension(mut self, extension: AgentExtension) -> Self {
        self.capabilities_mut().extensions.push(extension);
        self
    }

    fn capabilities_mut(&mut self) -> &mut AgentCapabilities {
        self.capabilities.get_or_insert_default()
    }

    /// Returns whether the streaming operations work.
    pub fn can_stream(&self) -> bool {
        self.capabilities.as_ref().is_some_and(|capabilities| capabilities.streaming())
    }

    /// Returns whether the agent calls webhooks.
    pub fn can_push(&self) -> bool {
        self.capabilities.as_ref().is_some_and(|capabilities| capabilities.push_notifications())
    }

    /// Returns whether there is a card for authenticated callers.
    pub fn has_extended_card(&self) -> bool {
        self.capabilities.as_ref().is_some_and(|capabilities| capabilities.extended_agent_card())
    }

    /// The extensions that the card declares.
    pub fn extensions(&self) -> &[AgentExtension] {
        self.capabilities.as_ref().map_or(&[], |capabilities| &capabilities.extensions)
    }
}

impl AgentSkill {
    /// Creates a skill.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            ..Self::default()
        }
    }

    /// Adds keywords.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item: Into<String>>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Adds sample prompts.
    #[must_use]
    pub fn with_examples(mut self, examples: impl IntoIterator<Item: Into<String>>) -> Self {
        self.examples.extend(examples.into_iter().map(Into::into));
        self
    }
}

impl AgentExtension {
    /// Creates an optional extension.
    pub fn new(uri: impl Into<String>, description: impl Into<String>) -> Self {
        Self { uri: uri.into(), description: description.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn an_extension_is_declared_among_the_capabilities() {
        let extension = AgentExtension::new("urn:example:one", "is an example");
        let card = AgentCard::new("a", "b").with_extension(extension);
        let printed = serde_json::to_value(&card).unwrap();
        assert_eq!(printed["capabilities"]["extensions"][0]["uri"], "urn:example:one");
        assert_eq!(card.extensions().len(), 1);
    }
}
