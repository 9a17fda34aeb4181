//! The interfaces that a client may use, and what goes to them.

use a2a_auth::client::{AgentCredentials, Origin};
use a2a_core::AgentCard;

use crate::{ClientBuilder, DiscoveryError, Selected};

/// An interface, and what is sent to it to authenticate.
pub(crate) struct Way {
    pub(crate) selected: Selected,
    pub(crate) with: Option<AgentCredentials>,
}

impl ClientBuilder {
    /// The origins that what authenticates the client may go to; none where the application
    /// vouches for the card.
    pub(crate) fn reach(&self) -> Vec<Origin> {
        let Some(from) = &self.card_from else { return Vec::new() };
        std::iter::once(from).chain(&self.origins).cloned().collect()
    }

    /// Chooses the interfaces, where something goes with every request only those that it may be
    /// sent to.
    pub(crate) fn selected(&self, card: &AgentCard) -> Result<Vec<Selected>, DiscoveryError> {
        let selected = self.preference.select(card)?;
        let Some(from) = &self.card_from else { return Ok(selected) };
        if self.headers.is_empty() && self.context.credential.is_none() {
            return Ok(selected);
        }
        let kept = self.preference.clone().with_origins(self.reach()).select(card)?;
        // Whoever can change what goes in clear could not have changed the card.
        let kept = if from.is_encrypted() { encrypted(kept)? } else { kept };
        if let (Some(wanted), Some(used)) = (selected.first(), kept.first())
            && wanted != used
        {
            let (wanted, used) = (&wanted.interface.url, &used.interface.url);
            tracing::warn!(wanted, used, card = %from, "credentials keep to the origin of the card");
        }
        Ok(kept)
    }

    /// Finds what goes to each interface, and leaves out those where nothing can.
    pub(crate) fn authenticated(
        &self,
        card: &AgentCard,
        selected: Vec<Selected>,
    ) -> Result<Vec<Way>, DiscoveryError> {
        let Some(credentials) = &self.credentials else {
            return Ok(selected.into_iter().map(|one| Way { selected: one, with: None }).collect());
        };
        let mut credentials = credentials.clone();
        if self.settings.tls.has_identity() {
            credentials = credentials.with_client_certificate();
        }
        let mut ways = Vec::with_capacity(selected.len());
        let mut first = None;
        for selected in selected {
            let is_beyond = selected.is_beyond(&self.reach()).is_some();
            let card_from = self.card_from.as_ref().filter(|_| is_beyond);
            match credentials.for_agent(card, &selected.interface, card_from) {
                Ok(with) => ways.push(Way { selected, with: Some(with) }),
                Err(error) => {
                    tracing::debug!(url = selected.interface.url, %error, "interface is left out");
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if ways.is_empty() => Err(DiscoveryError::Credentials(error)),
            _ => Ok(ways),
        }
    }
}

/// Leaves out the interfaces on the way to which credentials could be read.
fn encrypted(selected: Vec<Selected>) -> Result<Vec<Selected>, DiscoveryError> {
    let (exposed, encrypted): (Vec<_>, Vec<_>) =
        selected.into_iter().partition(Selected::is_exposed);
    if encrypted.is_empty() {
        let urls = exposed.into_iter().map(|selected| selected.interface.url);
        return Err(DiscoveryError::Exposed(urls.collect()));
    }
    Ok(encrypted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preference;

    #[test]
    fn an_interface_in_clear_is_left_out_for_credentials() {
        let select = |urls: &[&str]| {
            let card = urls.iter().fold(AgentCard::new("a", "b"), |card, url| {
                card.with_interface(a2a_core::card::JSONRPC, *url)
            });
            encrypted(Preference::default().select(&card).unwrap())
        };
        let kept = select(&["http://a.example", "https://a.example"]).unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].interface.url, "https://a.example");
        let refused = select(&["http://a.example"]);
        assert!(matches!(refused, Err(DiscoveryError::Exposed(_))));
    }
}
