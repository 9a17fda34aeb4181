//! Detects the revision of a gRPC call.

use a2a_core::{Error, ErrorKind, ProtocolVersion, Result};

use crate::Revisions;

/// The revisions that have a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Up to 0.2.4.
    V0_2,
    /// Up to 0.3.
    V0_3,
    /// The draft of 1.0.
    Draft,
    /// All revisions.
    Shared,
}

/// Detects the revision of a call from its method and version.
///
/// # Errors
///
/// [`MethodNotFound`](ErrorKind::MethodNotFound) if the revision is disabled;
/// [`VersionNotSupported`](ErrorKind::VersionNotSupported) for an unknown version.
pub(super) fn decide(
    family: Family,
    version: Option<&str>,
    served: &Revisions,
) -> Result<ProtocolVersion> {
    let version = version.map(str::trim).filter(|version| !version.is_empty());
    let requested = version.map(str::parse::<ProtocolVersion>);
    if let (Some(version), Some(Err(_))) = (version, &requested) {
        return Err(ProtocolVersion::not_supported(version, &served.to_vec()));
    }
    let v0_3 = || served.contains_v0_2_or_v0_3();
    let draft = || served.contains(ProtocolVersion::V1Draft);
    let revision = match (family, requested) {
        (Family::V0_2, _) if v0_3() => Some(ProtocolVersion::V0_2),
        (Family::V0_3, Some(Ok(ProtocolVersion::V0_2))) if v0_3() => Some(ProtocolVersion::V0_2),
        (Family::V0_3, _) if v0_3() => Some(ProtocolVersion::V0_3),
        (Family::Draft, _) if draft() => Some(ProtocolVersion::V1Draft),
        (Family::V0_2 | Family::V0_3 | Family::Draft, _) => None,
        (Family::Shared, Some(Ok(ProtocolVersion::V1_0 | ProtocolVersion::V1Draft))) if draft() => {
            Some(ProtocolVersion::V1Draft)
        }
        (Family::Shared, Some(Ok(ProtocolVersion::V0_2))) if v0_3() => Some(ProtocolVersion::V0_2),
        (Family::Shared, None) if !v0_3() && draft() => Some(ProtocolVersion::V1Draft),
        (Family::Shared, _) if v0_3() => Some(ProtocolVersion::V0_3),
        (Family::Shared, _) => None,
    };
    revision.ok_or_else(|| {
        let message = "the protocol revision with this method is disabled";
        Error::new(ErrorKind::MethodNotFound, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_is_detected_from_method_then_version() {
        use ProtocolVersion::{V0_2, V0_3, V1Draft};
        for (family, version, expected) in [
            (Family::V0_3, None, V0_3),
            (Family::V0_3, Some("1.0"), V0_3),
            (Family::V0_3, Some("0.2.5"), V0_2),
            (Family::V0_2, None, V0_2),
            (Family::V0_2, Some("0.3"), V0_2),
            (Family::Draft, None, V1Draft),
            (Family::Draft, Some("0.3"), V1Draft),
            (Family::Shared, None, V0_3),
            (Family::Shared, Some(""), V0_3),
            (Family::Shared, Some("0.3.0"), V0_3),
            (Family::Shared, Some("0.2"), V0_2),
            (Family::Shared, Some("1.0"), V1Draft),
        ] {
            let decided = decide(family, version, &Revisions::all());
            assert_eq!(decided.ok(), Some(expected), "{family:?}, {version:?}");
        }
    }

    #[test]
    fn disabled_revisions_are_rejected() {
        for (served, family, version, expected) in [
            ("1.0,draft", Family::Shared, None, Ok(ProtocolVersion::V1Draft)),
            ("1.0,draft", Family::Shared, Some("0.3"), Err(ErrorKind::MethodNotFound)),
            ("1.0,draft", Family::V0_3, None, Err(ErrorKind::MethodNotFound)),
            ("0.3", Family::Draft, None, Err(ErrorKind::MethodNotFound)),
            ("0.3", Family::Shared, Some("1.0"), Ok(ProtocolVersion::V0_3)),
            ("1.0", Family::Shared, None, Err(ErrorKind::MethodNotFound)),
            ("all", Family::Shared, Some("9.9"), Err(ErrorKind::VersionNotSupported)),
        ] {
            let decided = decide(family, version, &served.parse().unwrap());
            let decided = decided.map_err(|error| error.kind());
            assert_eq!(decided, expected, "{served}, {family:?}, {version:?}");
        }
    }
}
