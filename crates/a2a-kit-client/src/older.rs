//! Cards of older revisions. Without the feature `compat`, there are none.

use a2a_core::{AgentCard, ProtocolVersion, Result};

/// The protocol version of interfaces of the draft.
#[cfg(feature = "compat")]
pub(crate) use a2a_kit_compat::card::DRAFT;
#[cfg(not(feature = "compat"))]
pub(crate) const DRAFT: &str = "draft";

/// Reads a card of any revision that is compiled in, and returns its revision.
pub(crate) fn read_card(json: &[u8]) -> Result<(AgentCard, ProtocolVersion)> {
    #[cfg(feature = "compat")]
    return a2a_kit_compat::card::read_with_revision(json);
    #[cfg(not(feature = "compat"))]
    Ok((a2a_core::json::from_slice(json)?, ProtocolVersion::LATEST))
}
