//! References to entries of catalogs, and to files that are none.

use std::path::Path;

use a2a_kit_client::{CardReference, CatalogLocation, Discovery, credentials::Origin};

use super::discovery_failure::discovery_failure;
use crate::{failure::Failure, output::Output, settings::Settings};

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
///
/// # Errors
///
/// A failure if there is no such catalog or entry.
pub(crate) async fn resolve_catalog_entry(
    reference: &str,
    settings: &Settings,
    output: Output,
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
            output.note(&format!("{reference} is {found}"));
            Ok(Some((found.to_string(), origin)))
        }
    }
}
