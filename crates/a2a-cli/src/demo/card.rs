//! The card of the demo agent.

use a2a_core::{AgentCard, v1::AgentSkill};

use super::{Profile, word::WORDS};

/// What suites send and get.
const SUITE_MODES: [&str; 3] = ["text/plain", "application/json", "application/octet-stream"];

/// The card of a profile, with everything on.
pub(crate) fn card(profile: Profile) -> AgentCard {
    let card = match profile {
        Profile::Demo => demo(),
        Profile::Conformance => conformance(),
        Profile::Bench => bench(),
    };
    card.with_version(env!("CARGO_PKG_VERSION"))
        .with_provider("Example", "https://example.com")
        .with_push_notifications(true)
        .with_extended_card(true)
}

/// The card of the agent that only echoes.
pub(crate) fn echo_card() -> AgentCard {
    AgentCard::new("Echo agent", "Gives back what you say")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_input_modes(["*/*"])
        .with_output_modes(["*/*"])
        .with_skill(AgentSkill::new("echo", "Echo", "Gives back what you say").with_tags(["echo"]))
}

/// The card that authenticated callers get: one skill more.
pub(crate) fn extended_card(card: &AgentCard) -> AgentCard {
    let skill = AgentSkill::new("extended", "Extended", "A skill of the extended card only")
        .with_tags(["extended"]);
    card.clone().with_skill(skill)
}

fn demo() -> AgentCard {
    let card = AgentCard::new("Demo agent", "Shows what agents can do, one word at a time")
        .with_input_modes(["*/*"])
        .with_output_modes([
            "text/plain",
            "text/html",
            "application/json",
            "application/octet-stream",
            "image/png",
        ]);
    WORDS.iter().fold(card, |card, word| {
        let skill = AgentSkill::new(word.name, word.title, word.description)
            .with_tags(["demo"])
            .with_examples([word.example]);
        card.with_skill(skill)
    })
}

fn conformance() -> AgentCard {
    AgentCard::new("Conformance agent", "Does what conformance suites ask for")
        .with_input_modes(SUITE_MODES)
        .with_output_modes(SUITE_MODES)
        .with_skill(
            AgentSkill::new("tck", "Suite", "Behaves as the name in the message says")
                .with_tags(["tck"]),
        )
}

fn bench() -> AgentCard {
    AgentCard::new("Bench agent", "Answers with as little work as possible")
        .with_input_modes(["*/*"])
        .with_skill(
            AgentSkill::new("bench", "Bench", "stream:N, hold, history:N, or anything to echo")
                .with_tags(["bench"])
                .with_examples(["stream:1000"]),
        )
}
