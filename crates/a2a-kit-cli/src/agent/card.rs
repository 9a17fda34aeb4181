//! The card of the agent that the settings name.

use a2a_core::AgentCard;
use a2a_kit_client::{ClientBuilder, DiscoveryError, Document};

use super::{
    builder::{Retries, builder},
    discovery_failure::discovery_failure,
};
use crate::{failure::Failure, output::Output, settings::Settings};

/// Fetches the card that the settings name.
///
/// # Errors
///
/// A failure that tells apart an invalid reference, a missing card, an unreachable host and an
/// invalid card.
pub(crate) async fn document(settings: &Settings, output: Output) -> Result<Document, Failure> {
    fetch(&mut builder(settings, output, Retries::none())?, settings, output).await
}

/// Fetches the card that the settings name, with the client that calls the agent later.
pub(super) async fn fetch(
    builder: &mut ClientBuilder,
    settings: &Settings,
    output: Output,
) -> Result<Document, Failure> {
    let document = fetch_document(builder, settings, output).await?;
    document.map_err(|error| discovery_failure(&error, settings))
}

/// Fetches the document that the settings name, with the error of discovery.
pub(super) async fn fetch_document(
    builder: &mut ClientBuilder,
    settings: &Settings,
    output: Output,
) -> Result<Result<Document, DiscoveryError>, Failure> {
    let Some(reference) = &settings.agent_card else {
        return Err(Failure::usage("no agent is named")
            .with_hint("name one with --agent-card (-a) or A2ACLI_AGENT_CARD"));
    };
    let document = builder.fetch_card(reference).await;
    if document.as_ref().is_ok_and(|document| document.is_at_legacy_path) {
        output.note("card found at /.well-known/agent.json, its path before version 0.3");
    }
    Ok(document)
}

/// Creates a card for an endpoint without one. It declares everything, so that every operation is
/// tried.
pub(super) fn of_endpoint(settings: &Settings, url: &str) -> Result<AgentCard, Failure> {
    if settings.agent_card.is_some() {
        return Err(Failure::usage("--endpoint and --agent-card are mutually exclusive"));
    }
    let [binding] = settings.transport.as_slice() else {
        return Err(Failure::usage(
            "--endpoint requires exactly one --transport (with --proxy: --upstream-transport)",
        ));
    };
    let mut card = AgentCard::new("", "")
        .with_push_notifications(true)
        .with_extended_card(true)
        .with_interface(binding.as_str(), url);
    for interface in &mut card.supported_interfaces {
        interface.tenant = settings.tenant.clone().unwrap_or_default();
        if let Some(version) = settings.version {
            version.as_str().clone_into(&mut interface.protocol_version);
        }
    }
    Ok(card)
}
