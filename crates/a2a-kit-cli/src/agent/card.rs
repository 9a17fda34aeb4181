//! The card of the agent that the settings name.

use a2a_core::AgentCard;
use a2a_kit_client::{CardReference, ClientBuilder, DiscoveryError, Document, credentials::Origin};

use super::{
    builder::{Retries, builder, preference},
    discovery_failure::discovery_failure,
};
use crate::{
    failure::Failure,
    output::Output,
    settings::{Settings, value},
};

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

/// Returns the origin of a card: of its URL or, if it comes from a file, of the interface that is
/// used. `None` if it has no usable interface.
pub(crate) fn origin(settings: &Settings, card: &AgentCard) -> Option<Origin> {
    let reference = settings.agent_card.as_ref().and_then(|text| text.parse().ok());
    if let Some(CardReference::Url(url)) = reference {
        return Origin::of(&url);
    }
    let selected = preference(settings).select(card).ok()?;
    selected.first()?.interface.url.parse().ok()
}

/// Returns the origin of the card with this reference, as [`origin`]. The card is read only if it is a
/// file.
///
/// # Errors
///
/// A failure if the reference is malformed or the file has no usable card.
pub(crate) async fn origin_of_reference(
    reference: &str,
    settings: &Settings,
    output: Output,
) -> Result<Origin, Failure> {
    let parsed = reference.parse().map_err(|error| discovery_failure(&error, settings))?;
    let origin = match parsed {
        CardReference::Url(url) => Origin::of(&url),
        _ => origin(settings, &document(settings, output).await?.card),
    };
    origin.ok_or_else(|| Failure::usage("the agent has no usable interface"))
}

/// Creates a card for an endpoint without one. It declares everything, so that every operation is
/// tried.
pub(super) fn of_endpoint(settings: &Settings, url: &str) -> Result<AgentCard, Failure> {
    if settings.agent_card.is_some() {
        return Err(Failure::usage("--endpoint and --agent-card are mutually exclusive"));
    }
    value::public_address(url).map_err(|problem| {
        Failure::usage(format!("--endpoint {problem}")).with_hint("use --basic or --bearer")
    })?;
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
