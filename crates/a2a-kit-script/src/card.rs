//! The card of a scripted agent.

use a2a_core::{
    AgentCard,
    v1::{AgentProvider, AgentSkill},
};
use serde::Deserialize;

/// The card as a script has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Card {
    name: String,
    description: String,
    version: String,
    provider: Option<Provider>,
    input_modes: Vec<String>,
    output_modes: Vec<String>,
    streaming: bool,
    pub(crate) push_notifications: bool,
    extended_card: bool,
    skills: Vec<Skill>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    organization: String,
    url: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Skill {
    id: String,
    name: String,
    description: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    examples: Vec<String>,
}

impl Default for Card {
    fn default() -> Self {
        Self {
            name: "Scripted agent".into(),
            description: "Answers as its script says".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            provider: None,
            input_modes: vec!["*/*".into()],
            output_modes: vec!["*/*".into()],
            streaming: true,
            push_notifications: true,
            extended_card: true,
            skills: Vec::new(),
        }
    }
}

impl Card {
    /// The card, without interfaces.
    pub(crate) fn card(&self) -> AgentCard {
        let mut card = AgentCard::new(&self.name, &self.description)
            .with_version(&self.version)
            .with_input_modes(&self.input_modes)
            .with_output_modes(&self.output_modes)
            .with_streaming(self.streaming)
            .with_push_notifications(self.push_notifications)
            .with_extended_card(self.extended_card);
        card.provider = self.provider.as_ref().map(|provider| AgentProvider {
            organization: provider.organization.clone(),
            url: provider.url.clone(),
        });
        self.skills.iter().fold(card, |card, skill| {
            let Skill { id, name, description, tags, examples } = skill;
            let skill = AgentSkill::new(id, name, description);
            card.with_skill(skill.with_tags(tags).with_examples(examples))
        })
    }

    /// The skills with their descriptions, one a line.
    pub(crate) fn skills(&self) -> String {
        let line = |skill: &Skill| format!("{:<8} {}", skill.id, skill.description);
        self.skills.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
