//! Shared by the older revisions: their JSON formats, as differences from the JSON of 1.0, and
//! lenient readers.
//!
//! Documents are rewritten as those of 1.0 before they are read, and after they are written. So
//! only members that differ are named here; all others are those of [`a2a_core::v1`].

pub(crate) mod card;
pub(crate) mod error_data;
pub(crate) mod event;
pub(crate) mod extensions;
pub(crate) mod json;
pub(crate) mod member;
pub(crate) mod name;
pub(crate) mod part;
pub(crate) mod parts;
pub(crate) mod push;
pub(crate) mod request;
pub(crate) mod security;
pub(crate) mod task;

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
