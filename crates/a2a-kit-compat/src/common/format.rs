//! The JSON formats of older revisions, as differences from the JSON of 1.0.
//!
//! Documents are rewritten as those of 1.0 before they are read, and after they are written. So
//! only members that differ are named here; all others are those of [`a2a_core::v1`].

/// A JSON format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// 0.1.
    V0_1,
    /// 0.2 and 0.3.
    V0_3,
    /// The draft of 1.0.
    Draft,
}
