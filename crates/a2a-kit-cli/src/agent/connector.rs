//! Clients of the interfaces of one card, each on its own.

use a2a_core::{AgentCard, Error};
use a2a_kit_client::{Client, ClientBuilder, ClientSettings, DiscoveryError, Document};

use super::{
    builder::{Retries, builder},
    card,
    discovery_failure::discovery_failure,
    remote_agent::{stored, use_plaintext_grpc},
};
use crate::{failure::Failure, settings::Settings};

/// Connects to the interfaces of a card, each on its own.
#[derive(Debug)]
pub(crate) struct Connector {
    builder: ClientBuilder,
    /// With stored tokens, if there are some for the card.
    with_tokens: Option<ClientBuilder>,
    settings: Settings,
}

impl Connector {
    /// Creates a connector. Nothing is retried, and interfaces of all versions are called.
    /// Errors: a usage failure for a malformed credential or service parameter.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Failure> {
        // One interface at a time: neither the binding nor the version has to be chosen.
        let settings = Settings { any_version: true, transport: Vec::new(), ..settings.clone() };
        let builder = builder(&settings, Retries::none())?;
        Ok(Self { builder, with_tokens: None, settings })
    }

    /// Fetches the document that the settings name, which may not be a card. If it is one, its
    /// interfaces are called with the tokens that are stored for it, unless the settings have a
    /// credential.
    pub(crate) async fn document(&mut self) -> Result<Result<Document, Error>, Failure> {
        match card::fetch_document(&mut self.builder, &self.settings).await? {
            Ok(document) => {
                let tokens = stored(&document.card, &self.settings)?;
                self.with_tokens =
                    tokens.map(|tokens| self.builder.clone().credentials(tokens.credentials));
                Ok(Ok(document))
            }
            Err(DiscoveryError::NotACard(error)) => Ok(Err(error)),
            Err(error) => Err(discovery_failure(&error, &self.settings)),
        }
    }

    /// Creates a client of one interface of a card, with connections of its own.
    /// Errors: [`DiscoveryError`] if the interface can't be used, or if credentials must not be
    /// sent to it.
    pub(crate) fn connect(
        &self,
        card: &AgentCard,
        interface: usize,
    ) -> Result<Client, DiscoveryError> {
        self.connect_with(card, interface, self.settings.http())
    }

    /// Creates a client with other settings of the HTTP client.
    pub(crate) fn connect_with(
        &self,
        card: &AgentCard,
        interface: usize,
        http: ClientSettings,
    ) -> Result<Client, DiscoveryError> {
        let mut card = card.clone();
        let interface = card.supported_interfaces.get(interface).cloned();
        card.supported_interfaces = interface.into_iter().collect();
        if self.settings.grpc_plaintext {
            use_plaintext_grpc(&mut card);
        }
        if let Some(builder) = &self.with_tokens {
            match builder.clone().http(http.clone()).build(card.clone()) {
                // Tokens are for the origin of the card, and this interface is elsewhere.
                Err(DiscoveryError::Credentials(_)) => {}
                result => return result,
            }
        }
        self.builder.clone().http(http).build(card)
    }

    /// Whether a credential is sent, unless an interface must not get it.
    pub(crate) fn has_credential(&self) -> bool {
        self.settings.has_credential() || self.with_tokens.is_some()
    }

    /// Converts an error of [`connect`](Self::connect).
    pub(crate) fn failure(&self, error: &DiscoveryError) -> Failure {
        discovery_failure(error, &self.settings)
    }
}
