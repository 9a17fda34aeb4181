//! Clients of the interfaces of one card, each on its own.

use a2a_core::{AgentCard, Error};
use a2a_kit_client::{Client, ClientBuilder, ClientSettings, DiscoveryError, Document};

use super::{
    builder::{Retries, builder},
    card,
    discovery_failure::discovery_failure,
};
use crate::{failure::Failure, output::Output, settings::Settings};

/// Connects to the interfaces of a card, each on its own.
#[derive(Debug)]
pub(crate) struct Connector {
    builder: ClientBuilder,
    settings: Settings,
}

impl Connector {
    /// Creates a connector. Nothing is retried, and interfaces of all versions are called.
    ///
    /// # Errors
    ///
    /// A usage failure for a malformed credential or service parameter.
    pub(crate) fn new(settings: &Settings, output: Output) -> Result<Self, Failure> {
        // One interface at a time: neither the binding nor the version has to be chosen.
        let settings = Settings { any_version: true, transport: Vec::new(), ..settings.clone() };
        Ok(Self { builder: builder(&settings, output, Retries::none())?, settings })
    }

    /// Fetches the document that the settings name, which may not be a card.
    ///
    /// # Errors
    ///
    /// A failure if there is no document.
    pub(crate) async fn document(
        &mut self,
        output: Output,
    ) -> Result<Result<Document, Error>, Failure> {
        match card::fetch_document(&mut self.builder, &self.settings, output).await? {
            Ok(document) => Ok(Ok(document)),
            Err(DiscoveryError::NotACard(error)) => Ok(Err(error)),
            Err(error) => Err(discovery_failure(&error, &self.settings)),
        }
    }

    /// The card of an endpoint that is called without one.
    ///
    /// # Errors
    ///
    /// A usage failure unless the settings have exactly one binding.
    pub(crate) fn card_of_endpoint(settings: &Settings, url: &str) -> Result<AgentCard, Failure> {
        card::of_endpoint(settings, url)
    }

    /// Creates a client of one interface of a card, with connections of its own.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] if the interface can't be used, or if credentials must not be sent to it.
    pub(crate) fn connect(
        &self,
        card: &AgentCard,
        interface: usize,
    ) -> Result<Client, DiscoveryError> {
        self.connect_with(card, interface, self.settings.http())
    }

    /// Creates a client with other settings of the HTTP client.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub(crate) fn connect_with(
        &self,
        card: &AgentCard,
        interface: usize,
        http: ClientSettings,
    ) -> Result<Client, DiscoveryError> {
        let mut card = card.clone();
        let interface = card.supported_interfaces.get(interface).cloned();
        card.supported_interfaces = interface.into_iter().collect();
        self.builder.clone().http(http).build(card)
    }

    /// Converts an error of [`connect`](Self::connect).
    pub(crate) fn failure(&self, error: &DiscoveryError) -> Failure {
        discovery_failure(error, &self.settings)
    }
}
