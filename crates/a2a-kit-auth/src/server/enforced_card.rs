//! A card whose security requirements are enforced.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    TrustedProxy,
    auth_history::AuthHistory,
    challenge::Challenges,
    guard::{Policy, SkillResolver, Tenants},
    requirement::Requirements,
    scheme::EnforcedScheme,
};

/// A card whose security requirements are enforced, with the rules of the guard.
pub(super) struct EnforcedCard {
    /// In the order of their rank.
    pub(super) schemes: Vec<EnforcedScheme>,
    pub(super) agent: Rule,
    /// By the id of the skill.
    pub(super) skills: BTreeMap<String, Rule>,
    /// The challenges where any scheme is sufficient.
    pub(super) any: Challenges,
    pub(super) skill: Option<Arc<SkillResolver>>,
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) tenants: Option<Arc<Tenants>>,
    pub(super) proxies: Vec<TrustedProxy>,
    pub(super) passes_credentials_on: bool,
    pub(super) protects_extended_card_only: bool,
    pub(super) has_private_card: bool,
    pub(super) auth_history: Arc<AuthHistory>,
}

/// Requirements, and the challenges for callers that don't meet them.
pub(super) struct Rule {
    pub(super) requirements: Requirements,
    pub(super) challenges: Challenges,
}
