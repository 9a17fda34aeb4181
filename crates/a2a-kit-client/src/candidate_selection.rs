//! Selection of candidate interfaces, with the credentials for them.

use a2a_core::AgentCard;
use a2a_kit_auth::client::{AgentCredentials, CredentialError, Origin};

use crate::{ClientBuilder, ClientEvent, DiscoveryError, SelectedInterface, candidate::Candidate};

/// The maximum number of interfaces that a client tries: each retry tries all of them again, and a
/// card can list any number.
const MAX_INTERFACES: usize = 5;

impl ClientBuilder {
    /// The origins to which credentials may be sent; empty if the application vouches for the card.
    pub(crate) fn trusted_origins(&self) -> Vec<Origin> {
        let Some(from) = &self.card_origin else { return Vec::new() };
        std::iter::once(from).chain(&self.origins).cloned().collect()
    }

    /// Selects up to five interfaces, with the credentials for them.
    pub(crate) fn select_candidates(
        &self,
        card: &AgentCard,
    ) -> Result<Vec<Candidate>, DiscoveryError> {
        let selected = self.preference.select(card)?;
        let preferred = selected.first().cloned();
        let mut candidates =
            self.assign_credentials(card, self.trusted_interfaces(card, selected)?)?;
        candidates.truncate(MAX_INTERFACES);
        if let (Some(preferred), Some(used)) = (preferred, candidates.first())
            && preferred != used.selected
        {
            tracing::warn!(
                preferred = preferred.interface.url,
                used = used.selected.interface.url,
                "preferred interface skipped to protect credentials"
            );
            let used = used.selected.clone();
            self.observer.emit(|| ClientEvent::InterfaceSkipped { preferred, used });
        }
        Ok(candidates)
    }

    /// Drops the interfaces at untrusted origins, if the client sends headers or a credential with
    /// every request, has a client certificate, or may use only trusted origins.
    fn trusted_interfaces(
        &self,
        card: &AgentCard,
        selected: Vec<SelectedInterface>,
    ) -> Result<Vec<SelectedInterface>, DiscoveryError> {
        let has_secret = !self.headers.is_empty()
            || self.context.credential.is_some()
            || self.settings.tls.has_identity();
        let Some(from) = self.card_origin.as_ref().filter(|_| has_secret || self.trusted_only)
        else {
            return Ok(selected);
        };
        let trusted = self.preference.clone().with_origins(self.trusted_origins()).select(card)?;
        // A card that was fetched over TLS must not lead to sending credentials in plaintext.
        if from.is_encrypted() { encrypted(trusted) } else { Ok(trusted) }
    }

    /// Assigns credentials to interfaces, and drops interfaces for which none are usable.
    fn assign_credentials(
        &self,
        card: &AgentCard,
        selected: Vec<SelectedInterface>,
    ) -> Result<Vec<Candidate>, DiscoveryError> {
        let Some(credentials) = &self.credentials else {
            let without = |selected| Candidate { selected, credentials: None };
            return Ok(selected.into_iter().map(without).collect());
        };
        let mut credentials = credentials.clone();
        if self.settings.tls.has_identity() {
            credentials = credentials.with_client_certificate();
        }
        let mut candidates = Vec::with_capacity(selected.len());
        let mut first_error = None;
        for selected in selected {
            let is_untrusted = selected.origin_error(&self.trusted_origins()).is_some();
            let card_origin = self.card_origin.as_ref().filter(|_| is_untrusted);
            let credentials = credentials.for_agent(card, &selected.interface, card_origin);
            match credentials.and_then(|credentials| self.check_encryption(&selected, credentials))
            {
                Ok(credentials) => {
                    candidates.push(Candidate { selected, credentials: Some(credentials) });
                }
                Err(error) => {
                    let url = &selected.interface.url;
                    tracing::debug!(url, %error, "interface skipped: no usable credentials");
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error {
            Some(error) if candidates.is_empty() => Err(DiscoveryError::Credentials(error)),
            _ => Ok(candidates),
        }
    }

    /// Rejects credentials for a plaintext interface of a card that was fetched over TLS, even if
    /// the application allows plaintext.
    fn check_encryption(
        &self,
        selected: &SelectedInterface,
        credentials: AgentCredentials,
    ) -> Result<AgentCredentials, CredentialError> {
        let is_encrypted = self.card_origin.as_ref().is_some_and(Origin::is_encrypted);
        if is_encrypted && selected.is_exposed() && !credentials.is_empty() {
            return Err(CredentialError::Plaintext(selected.interface.url.parse()?));
        }
        Ok(credentials)
    }
}

/// Drops interfaces that would receive credentials in plaintext.
fn encrypted(selected: Vec<SelectedInterface>) -> Result<Vec<SelectedInterface>, DiscoveryError> {
    let (exposed, encrypted): (Vec<_>, Vec<_>) =
        selected.into_iter().partition(SelectedInterface::is_exposed);
    if encrypted.is_empty() {
        let urls = exposed.into_iter().map(|selected| selected.interface.url);
        return Err(DiscoveryError::Exposed(urls.collect()));
    }
    Ok(encrypted)
}

#[cfg(test)]
mod tests {
    use a2a_kit_auth::client::{Bearer, Credentials};

    use super::*;
    use crate::Preference;

    #[test]
    fn plaintext_interface_is_not_used_with_credentials() {
        let select = |urls: &[&str]| {
            let card = urls.iter().fold(AgentCard::new("a", "b"), |card, url| {
                card.with_interface(a2a_core::card::JSONRPC, *url)
            });
            encrypted(Preference::default().select(&card).unwrap())
        };
        let allowed = select(&["http://a.example", "https://a.example"]).unwrap();
        assert_eq!(allowed.len(), 1);
        assert_eq!(allowed[0].interface.url, "https://a.example");
        let rejected = select(&["http://a.example"]);
        assert!(matches!(rejected, Err(DiscoveryError::Exposed(_))));
    }

    #[test]
    fn card_fetched_over_tls_does_not_lead_to_plaintext_even_if_it_is_allowed() {
        let credentials = Credentials::new().unconditional().allow_plaintext();
        let builder = ClientBuilder::default().credentials(credentials.with(Bearer::new("b")));
        let url = "http://a.example:443";
        let card = AgentCard::new("a", "b").with_interface(a2a_core::card::JSONRPC, url);
        for (from, is_allowed) in [(url, true), ("https://a.example", false)] {
            let builder = builder.clone().trusted_origin(url.parse().unwrap());
            let selected = builder.card_origin(from.parse().unwrap()).select_candidates(&card);
            assert_eq!(selected.is_ok(), is_allowed, "{from}");
        }
    }
}
