//! `a2a card`: agent cards.

use a2a_core::{AgentCard, ProtocolVersion, v1::GetExtendedAgentCardRequest};
use clap::{Args, Subcommand};

use crate::{
    failure::Failure,
    output,
    output::Output,
    settings::{Settings, value},
    target::Target,
};

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
            let document = crate::target::document(settings, output).await?;
            if self.validate {
                let violations = document.violations();
                if !violations.is_empty() {
                    return Err(crate::target::invalid_card(&violations));
                }
            }
            if !self.extended {
                let form = Some(document.form)
                    .filter(|form| settings.verbose && *form != ProtocolVersion::LATEST);
                return show(&document.card, form, settings, output);
            }
        }
        let target = Target::connect(settings, output).await?;
        target.require_extended_card()?;
        let request = target.call(GetExtendedAgentCardRequest::default());
        let card = target.unary(target.agent().get_extended_agent_card(request)).await?;
        show(&card, None, settings, output)
    }
}

/// Prints a card, and the revision in whose `form` it was written where that is given.
fn show(
    card: &AgentCard,
    form: Option<ProtocolVersion>,
    settings: &Settings,
    output: Output,
) -> Result<(), Failure> {
    let selected = crate::target::select(card, settings).ok();
    let form = form.map(value::version_name);
    if let (true, Some(form)) = (output.is_json(), form) {
        output.note(&format!("the card is in the form of {form}"));
    }
    output.result(card, || {
        let mut text = output::card(card, selected.as_ref().map(|one| &one.interface));
        text.line_if_any("Source version", form.unwrap_or_default());
        text
    })
}
