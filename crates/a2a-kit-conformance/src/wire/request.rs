//! A call before it is written for a binding.

use bytes::Bytes;
use derive_setters::Setters;
use serde_json::Value;

/// Who makes a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Principal {
    /// The caller with the first credentials, if there are any.
    #[default]
    First,
    /// The caller with the second credentials.
    Second,
    /// A caller without credentials.
    Anonymous,
}

/// A call before it is written for a binding.
#[derive(Clone, Debug, Default, Setters)]
#[setters(prefix = "with_")]
pub(crate) struct Call {
    /// The name of the operation: of the rpc in 1.0 and the draft, of the method in older revisions.
    #[setters(skip)]
    pub(crate) operation: &'static str,
    #[setters(skip)]
    pub(crate) params: Value,
    /// The value of `A2A-Version`, if it is not that of the revision.
    pub(crate) version: VersionHeader,
    /// URIs for the extensions header, besides the required ones.
    pub(crate) extensions: Vec<String>,
    /// Whether the extensions that the card requires are left out.
    #[setters(bool, rename = "without_required_extensions")]
    pub(crate) lacks_required_extensions: bool,
    pub(crate) principal: Principal,
    /// A body that replaces the one of the operation (bindings over HTTP).
    #[setters(into, strip_option)]
    pub(crate) raw_body: Option<Bytes>,
}

/// What a call sends as `A2A-Version`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VersionHeader {
    /// The version of the revision.
    #[default]
    OfRevision,
    /// Another version.
    Is(&'static str),
    /// None.
    Missing,
}

impl Call {
    pub(crate) fn new(operation: &'static str, params: Value) -> Self {
        Self { operation, params, ..Self::default() }
    }
}
