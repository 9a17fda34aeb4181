//! The agent card of a gateway, derived from the upstream card.

use a2a_core::AgentCard;

/// Returns the card of a gateway for the upstream agent, with the upstream security schemes if
/// `keep_security` is set, for callers that authenticate at the upstream agent.
pub(crate) fn front_card(upstream: &AgentCard, keep_security: bool) -> AgentCard {
    let mut card = upstream.clone();
    card.supported_interfaces.clear();
    card.signatures.clear();
    if keep_security {
        return card;
    }
    card.security_schemes.clear();
    card.security_requirements.clear();
    for skill in &mut card.skills {
        skill.security_requirements.clear();
    }
    card
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::{
        AgentCardSignature, AgentExtension, AgentSkill, SecurityRequirement, SecurityScheme,
    };

    use super::*;

    #[test]
    fn front_card_drops_interfaces_signatures_and_security() {
        let kept = AgentCard::new("Shop", "Sells")
            .with_version("7")
            .with_push_notifications(true)
            .with_extended_card(true)
            .with_extension(AgentExtension::new("urn:x", "is forwarded"))
            .with_skill(AgentSkill::new("s", "S", "does").with_tags(["t"]));
        let mut upstream = kept.clone().with_interface(a2a_core::card::GRPC, "upstream:1");
        upstream.signatures.push(AgentCardSignature::default());
        upstream.security_schemes.insert("key".into(), SecurityScheme::default());
        upstream.security_requirements.push(SecurityRequirement::default());
        upstream.skills[0].security_requirements.push(SecurityRequirement::default());
        assert_eq!(front_card(&upstream, false), kept);
        let front = front_card(&upstream, true);
        assert_eq!(front.security_schemes, upstream.security_schemes);
        assert_eq!(front.skills, upstream.skills);
        assert!(front.signatures.is_empty() && front.supported_interfaces.is_empty());
    }
}
