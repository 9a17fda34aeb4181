//! Options of a binding.

use crate::{Limits, VersionPolicy};

/// Options of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Limits enforced before a request reaches the agent.
    pub limits: Limits,
    /// The revision of a request without `A2A-Version`. Default: 0.3, as the specification says.
    pub version_policy: VersionPolicy,
}

impl Options {
    /// Sets the limits enforced before a request reaches the agent.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the revision of a request without `A2A-Version`.
    #[must_use]
    pub fn with_version_policy(mut self, policy: VersionPolicy) -> Self {
        self.version_policy = policy;
        self
    }
}
