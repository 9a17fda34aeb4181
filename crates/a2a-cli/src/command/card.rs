//! `a2a card`: agent cards.

use a2a_core::{AgentCard, v1::GetExtendedAgentCardRequest};
use clap::{Args, Subcommand};

use crate::{failure::Failure, output, output::Output, settings::Settings, target::Target};

#[derive(Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Show the card of an agent
    Get(Get),
}

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// The card for authenticated callers
    #[arg(long)]
    extended: bool,
    /// Check the card against the rules of the protocol
    #[arg(long)]
    validate: bool,
}

impl CardCommand {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        match self {
            Self::Get(get) => get.run(settings, output).await,
        }
    }
}

impl Get {
    async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        if self.validate || !self.extended {
            let document = crate::target::document(settings).await?;
            if self.validate {
                let violations = document.violations();
                if !violations.is_empty() {
                    return Err(crate::target::invalid_card(&violations));
                }
            }
            if !self.extended {
                return show(&document.card, settings, output);
            }
        }
        let target = Target::connect(settings, output).await?;
        target.require_extended_card()?;
        let request = target.call(GetExtendedAgentCardRequest::default());
        let card = target.unary(target.agent().get_extended_agent_card(request)).await?;
        show(&card, settings, output)
    }
}

fn show(card: &AgentCard, settings: &Settings, output: Output) -> Result<(), Failure> {
    let selected = crate::target::select(card, settings).ok();
    output.result(card, || output::card(card, selected.as_ref().map(|one| &one.interface)))
}
