//! A card whose security requirements are enforced.

use std::collections::BTreeMap;

use super::{Guard, challenge::Challenges, requirement::Requirements, verifier::EnforcedScheme};

/// A card whose security requirements are enforced, with the rules of the guard.
pub(super) struct EnforcedCard {
    /// In the order of their rank.
    pub(super) schemes: Vec<EnforcedScheme>,
    pub(super) agent: Rule,
    /// By the id of the skill.
    pub(super) skills: BTreeMap<String, Rule>,
    /// The challenges where any scheme is sufficient.
    pub(super) any: Challenges,
    pub(super) guard: Guard,
}

/// Requirements, and the challenges for callers that don't meet them.
pub(super) struct Rule {
    pub(super) requirements: Requirements,
    pub(super) challenges: Challenges,
}

a2a_core::debug_fields!(EnforcedCard { schemes, .. });
