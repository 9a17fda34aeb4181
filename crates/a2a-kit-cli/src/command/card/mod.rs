//! `a2a card`: agent cards.

mod get;
mod lint;
mod sign;
mod trust;
mod verify;

use clap::Subcommand;
pub(super) use lint::replace;
pub(crate) use trust::{Keys, keys};

use crate::{failure::Failure, settings::Settings};

#[derive(Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Show the card of an agent
    Get(get::Get),
    /// Check a card for errors and bad practice
    Lint(lint::Lint),
    /// Sign a card with a private key
    Sign(sign::Sign),
    /// Verify the signatures of a card
    Verify(verify::Verify),
}

impl CardCommand {
    /// The agent that the command itself names.
    pub(super) fn reference(&self) -> Option<&String> {
        match self {
            Self::Lint(lint) => lint.reference.as_ref(),
            Self::Verify(verify) => verify.reference.as_ref(),
            Self::Get(_) | Self::Sign(_) => None,
        }
    }

    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        match self {
            Self::Get(get) => get.run(settings).await,
            Self::Lint(lint) => lint.run(settings).await,
            Self::Sign(sign) => sign.run(settings.output),
            Self::Verify(verify) => verify.run(settings).await,
        }
    }
}
