//! BindingOptions of a binding.

use derive_setters::Setters;

use crate::{Limits, VersionPolicy};

/// BindingOptions of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct BindingOptions {
    /// Limits enforced before a request reaches the agent.
    pub limits: Limits,
    /// The revision of a request without `A2A-Version`. Default: 0.3, as the specification says.
    pub version_policy: VersionPolicy,
}
