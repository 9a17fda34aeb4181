//! The card of the agent that the settings name, and references to it.

use std::path::Path;

use a2a_core::AgentCard;
use a2a_kit_client::{
    CardReference, CatalogLocation, ClientBuilder, Discovery, DiscoveryError, Document,
    credentials::Origin,
};

use super::{
    builder::{Retries, builder, preference},
    discovery_failure::discovery_failure,
};
use crate::{
    failure::Failure,
    settings::{Settings, value},
};

/// Fetches the card that the settings name.
/// Errors: a failure that tells apart an invalid reference, a missing card, an unreachable host and
/// an invalid card.
pub(crate) async fn document(settings: &Settings) -> Result<Document, Failure> {
    fetch(&mut builder(settings, Retries::none())?, settings).await
}

/// Fetches the card that the settings name, with the client that calls the agent later.
pub(super) async fn fetch(
    builder: &mut ClientBuilder,
    settings: &Settings,
) -> Result<Document, Failure> {
    let document = fetch_document(builder, settings).await?;
    document.map_err(|error| discovery_failure(&error, settings))
}

/// Fetches the document that the settings name, with the error of discovery.
pub(super) async fn fetch_document(
    builder: &mut ClientBuilder,
    settings: &Settings,
) -> Result<Result<Document, DiscoveryError>, Failure> {
    let document = builder.fetch_card(settings.agent_card()?).await;
    if document.as_ref().is_ok_and(|document| document.is_at_legacy_path) {
        settings.output.note("card found at /.well-known/agent.json, its path before version 0.3");
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
/// Errors: a failure if the reference is malformed or the file has no usable card.
pub(crate) async fn origin_of_reference(
    reference: &str,
    settings: &Settings,
) -> Result<Origin, Failure> {
    let parsed = reference.parse().map_err(|error| discovery_failure(&error, settings))?;
    let origin = match parsed {
        CardReference::Url(url) => Origin::of(&url),
        _ => origin(settings, &document(settings).await?.card),
    };
    origin.ok_or_else(|| Failure::usage("the agent has no usable interface"))
}

/// Creates a card for an endpoint without one. It declares everything, so that every operation is
/// tried.
pub(crate) fn of_endpoint(settings: &Settings, url: &str) -> Result<AgentCard, Failure> {
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

/// Returns whether a reference names an entry of a catalog.
pub(crate) fn is_catalog_entry(reference: &str) -> bool {
    matches!(reference.parse(), Ok(CardReference::Catalog { .. }))
}

/// The name of an existing file in a reference that is read as an address.
pub(crate) fn file_of_that_name(reference: &str) -> Option<&str> {
    let place = match reference.strip_prefix("catalog+") {
        Some(rest) => rest.rsplit_once('#')?.0,
        None => reference,
    };
    let is_address = !place.contains("://") && matches!(place.parse(), Ok(CardReference::Url(_)));
    (is_address && Path::new(place).is_file()).then_some(place)
}

/// The reference in the entry of a catalog, and the origin of the catalog unless it is a file;
/// `None` if the entry contains the card.
/// Errors: a failure if there is no such catalog or entry.
pub(crate) async fn resolve_catalog_entry(
    reference: &str,
    settings: &Settings,
) -> Result<Option<(String, Option<Origin>)>, Failure> {
    let failure = |error| discovery_failure(&error, settings);
    let parsed = reference.parse().map_err(failure)?;
    let origin = match &parsed {
        CardReference::Catalog { catalog: CatalogLocation::Url(url), .. } => Origin::of(url),
        _ => None,
    };
    let http = settings.http().with_request_timeout(settings.request_timeout);
    let discovery = Discovery::new(http).map_err(failure)?.with_cache(None);
    match discovery.resolve(parsed).await.map_err(failure)? {
        CardReference::Catalog { .. } => Ok(None),
        found => {
            settings.output.note(&format!("{reference} is {found}"));
            Ok(Some((found.to_string(), origin)))
        }
    }
}
