//! Options of a binding.

use a2a_core::{ProtocolVersion, Result};
use a2a_kit_operations::CallContext;
use derive_setters::Setters;
use http::HeaderMap;

use crate::{Limits, VersionPolicy, service_parameters};

/// Options of a binding.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct BindingOptions {
    /// Limits enforced before a request reaches the agent.
    pub limits: Limits,
    /// The revision of a request without `A2A-Version`. Default: 0.3, as the specification says.
    pub version_policy: VersionPolicy,
    /// The revisions that version errors list: all that are served at the same address. Default: 1.0.
    pub served_versions: Vec<ProtocolVersion>,
}

impl Default for BindingOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            version_policy: VersionPolicy::default(),
            served_versions: vec![ProtocolVersion::V1_0],
        }
    }
}

impl BindingOptions {
    /// Reads the service parameters of a request.
    ///
    /// # Errors
    ///
    /// As for [`service_parameters::read`].
    pub fn read_parameters(&self, headers: &HeaderMap, query: Option<&str>) -> Result<CallContext> {
        service_parameters::read(headers, query, self.version_policy, &self.served_versions)
    }
}
