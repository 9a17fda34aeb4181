//! A call before it is written for a binding.

use bytes::Bytes;
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
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The name of the operation: of the rpc in 1.0 and the draft, of the method in older revisions.
    pub(crate) operation: &'static str,
    pub(crate) params: Value,
    /// The value of `A2A-Version`, if it is not that of the revision.
    pub(crate) version: VersionHeader,
    /// URIs for the extensions header, besides the required ones.
    pub(crate) extensions: Vec<String>,
    /// Whether the extensions that the card requires are left out.
    pub(crate) lacks_required_extensions: bool,
    pub(crate) principal: Principal,
    /// A body that replaces the one of the operation (bindings over HTTP).
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
        Self {
            operation,
            params,
            version: VersionHeader::default(),
            extensions: Vec::new(),
            lacks_required_extensions: false,
            principal: Principal::default(),
            raw_body: None,
        }
    }

    pub(crate) fn with_version(mut self, version: &'static str) -> Self {
        self.version = VersionHeader::Is(version);
        self
    }

    pub(crate) fn without_version(mut self) -> Self {
        self.version = VersionHeader::Missing;
        self
    }

    pub(crate) fn with_extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    pub(crate) fn without_required_extensions(mut self) -> Self {
        self.lacks_required_extensions = true;
        self
    }

    pub(crate) fn by(mut self, principal: Principal) -> Self {
        self.principal = principal;
        self
    }

    pub(crate) fn with_raw_body(mut self, body: impl Into<Bytes>) -> Self {
        self.raw_body = Some(body.into());
        self
    }
}
