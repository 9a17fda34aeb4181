//! The header of extensions, which has another name before 1.0.

use a2a_core::{ExtensionSet, ProtocolVersion};
use a2a_kit_http::service_parameters;
use http::{HeaderMap, HeaderName};

/// The name of `A2A-Extensions` before 1.0.
const X_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// Renames the header of extensions to its name in a revision.
pub(crate) fn rename_header(revision: ProtocolVersion, headers: &mut HeaderMap) {
    if revision < ProtocolVersion::V1Draft
        && let Some(extensions) = headers.remove(service_parameters::EXTENSIONS)
    {
        headers.insert(X_EXTENSIONS, extensions);
    }
}

/// Reads the activated extensions from the header of either name.
pub(crate) fn read_activated(headers: &HeaderMap) -> ExtensionSet {
    let mut activated = service_parameters::read_activated(headers);
    for line in headers.get_all(X_EXTENSIONS).iter().filter_map(|line| line.to_str().ok()) {
        activated.extend_from_header(line);
    }
    activated
}
