//! The older revisions of the protocol. Without the feature `compat`, there are none.

#[cfg(feature = "compat")]
pub(crate) use a2a_kit_compat::{Revisions, card::DRAFT};

#[cfg(not(feature = "compat"))]
pub(crate) const DRAFT: &str = "draft";

/// The current revision.
#[cfg(not(feature = "compat"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revisions;

#[cfg(not(feature = "compat"))]
impl Revisions {
    pub(crate) fn all() -> Self {
        Self
    }

    pub(crate) fn latest() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the signature of the other type")]
    pub(crate) fn to_vec(&self) -> Vec<a2a_core::ProtocolVersion> {
        vec![a2a_core::ProtocolVersion::LATEST]
    }

    #[expect(clippy::unused_self, reason = "the signature of the other type")]
    pub(crate) fn contains(&self, version: a2a_core::ProtocolVersion) -> bool {
        version == a2a_core::ProtocolVersion::LATEST
    }

    #[expect(clippy::unused_self, reason = "the signature of the other type")]
    pub(crate) fn contains_v0_2_or_v0_3(&self) -> bool {
        false
    }
}
