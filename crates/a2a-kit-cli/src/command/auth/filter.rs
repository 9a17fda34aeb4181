//! Selection of stored tokens.

use a2a_kit_client::credentials::Origin;

use crate::{agent, failure::Failure, output::Output, settings::Settings, token::StoredToken};

/// Selects stored tokens by agent and scheme. Default: all.
#[derive(Debug, Default)]
pub(super) struct Filter<'a> {
    card: Option<Origin>,
    scheme: Option<&'a str>,
}

impl<'a> Filter<'a> {
    /// Selects the tokens for the agent that the settings name, if they name one. Its card is read
    /// only if it is a file.
    pub(super) async fn new(
        scheme: Option<&'a str>,
        settings: &Settings,
        output: Output,
    ) -> Result<Self, Failure> {
        let card = match &settings.agent_card {
            None => None,
            Some(reference) => Some(agent::origin_of_reference(reference, settings, output).await?),
        };
        Ok(Self { card, scheme })
    }

    pub(super) fn matches(&self, token: &StoredToken) -> bool {
        self.scheme.is_none_or(|scheme| scheme == token.scheme)
            && self.card.as_ref().is_none_or(|card| token.is_for(card, &token.scheme))
    }
}
