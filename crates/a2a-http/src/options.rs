//! How a binding serves an agent.

use crate::{Limits, VersionPolicy};

/// How a binding serves an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// What a request is held to before it reaches the agent.
    pub limits: Limits,
    /// What a request without `A2A-Version` stands for. Default: 0.3, as the specification says.
    pub version_policy: VersionPolicy,
}

impl Options {
    /// Sets what a request is held to before it reaches the agent.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what a request without `A2A-Version` stands for.
    #[must_use]
    pub fn with_version_policy(mut self, policy: VersionPolicy) -> Self {
        self.version_policy = policy;
        self
    }
}
