//! Agent cards: constructors and accessors.

use crate::v1::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
};

/// Protocol binding (`AgentInterface.protocol_binding`) of JSON-RPC.
pub const JSONRPC: &str = "JSONRPC";
/// Protocol binding of HTTP+JSON.
pub const HTTP_JSON: &str = "HTTP+JSON";
/// Protocol binding of gRPC.
pub const GRPC: &str = "GRPC";

impl AgentCard {
    /// Creates a card for a streaming agent with text input and output.
    ///
    /// The server adds the interfaces.
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

    /// Sets the provider.
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

    /// Appends an interface.
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

    /// Sets the input media types.
    #[must_use]
    pub fn with_input_modes(mut self, modes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.default_input_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the output media types.
    #[must_use]
    pub fn with_output_modes(mut self, modes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.default_output_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets whether streaming operations are supported.
    #[must_use]
    pub fn with_streaming(mut self, streaming: bool) -> Self {
        self.capabilities_mut().streaming = Some(streaming);
        self
    }

    /// Sets whether webhooks are supported.
    #[must_use]
    pub fn with_push_notifications(mut self, push_notifications: bool) -> Self {
        self.capabilities_mut().push_notifications = Some(push_notifications);
        self
    }

    /// Sets whether there is an extended card for authenticated callers.
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

    /// Returns whether streaming operations are supported.
    pub fn can_stream(&self) -> bool {
        self.capabilities.as_ref().is_some_and(|capabilities| capabilities.streaming())
    }

    /// Returns whether webhooks are supported.
    pub fn can_push(&self) -> bool {
        self.capabilities.as_ref().is_some_and(|capabilities| capabilities.push_notifications())
    }

    /// Returns whether there is an extended card for authenticated callers.
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
    fn extensions_are_declared_in_the_capabilities() {
        let extension = AgentExtension::new("urn:example:one", "is an example");
        let card = AgentCard::new("a", "b").with_extension(extension);
        let printed = serde_json::to_value(&card).unwrap();
        assert_eq!(printed["capabilities"]["extensions"][0]["uri"], "urn:example:one");
        assert_eq!(card.extensions().len(), 1);
    }
}
