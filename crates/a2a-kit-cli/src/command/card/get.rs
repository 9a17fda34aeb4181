//! `a2a card get`: shows a card.

use std::sync::Arc;

use a2a_core::{AgentCard, ProtocolVersion};
use a2a_kit_auth::card::CardVerification;
use a2a_kit_client::Document;
use clap::Args;

use super::trust::Trust;
use crate::{
    agent::{self, RemoteAgent, Retries},
    failure::{Code, Failure},
    output::{self},
    settings::{Settings, value},
};

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Show the extended card, for authenticated callers
    #[arg(long)]
    extended: bool,
    /// Fail if the card violates the protocol
    #[arg(long)]
    validate: bool,
    #[command(flatten)]
    trust: Trust,
}

impl Get {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        if self.validate || !self.extended {
            let document = agent::document(settings).await?;
            if self.validate {
                let violations = document.violations();
                if !violations.is_empty() {
                    return Err(agent::invalid_card(&violations));
                }
            }
            if !self.extended {
                let (document, signature) = self.verified(document, settings).await?;
                let form = Some(document.version)
                    .filter(|form| settings.output.verbose && *form != ProtocolVersion::LATEST);
                return show(&document.card, form, &signature, settings);
            }
        }
        let agent = RemoteAgent::connect(settings, Retries::of_read(settings)).await?;
        let card = agent.client.extended_card().await;
        let card = card.map_err(|error| agent.failure(&error))?;
        // The received JSON is lost, but not the signed members.
        let signature = match serde_json::to_vec(&*card) {
            Ok(json) => self.signature(&json, settings).await?.1,
            Err(_) => "unverifiable (not checked)".to_owned(),
        };
        show(&card, None, &signature, settings)
    }

    /// Verifies the signatures of a card, and returns the signed part of it and the result.
    async fn verified(
        &self,
        document: Document,
        settings: &Settings,
    ) -> Result<(Document, String), Failure> {
        let (verification, text) = self.signature(&document.json, settings).await?;
        let Some(CardVerification::Verified(signed)) = verification else {
            return Ok((document, text));
        };
        let mut signed = Document::read(signed.covered.clone())
            .map_err(|error| Failure::new(Code::CardInvalid, error.to_string()))?;
        let mut card = AgentCard::clone(&signed.card);
        card.signatures.clone_from(&document.card.signatures);
        signed.card = Arc::new(card);
        Ok((signed, text))
    }

    async fn signature(
        &self,
        json: &[u8],
        settings: &Settings,
    ) -> Result<(Option<CardVerification>, String), Failure> {
        let verification = self.trust.verifier(settings)?.verify(json).await;
        let is_absent = matches!(verification, CardVerification::Absent);
        if self.trust.is_some() || is_absent {
            let text = verification.to_string();
            return Ok((Some(verification), text));
        }
        Ok((None, "unverifiable (not checked: no trusted keys)".to_owned()))
    }
}

/// Prints a card and the result of its signatures; `form` is the protocol version of the document,
/// if it is to be shown.
fn show(
    card: &AgentCard,
    form: Option<ProtocolVersion>,
    signature: &str,
    settings: &Settings,
) -> Result<(), Failure> {
    let selected = agent::preference(settings).select(card).map_err(|error| {
        let failure = agent::discovery_failure(&error, settings);
        let hint = failure.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}{hint}", failure.message())
    });
    let form = form.map(value::version_name);
    if let (true, Some(form)) = (settings.output.is_json(), form) {
        settings.output.note(&format!("the card has the schema of version {form}"));
    }
    if settings.output.is_json() {
        settings.output.diagnostic(&format!("signature: {}", output::escaped(signature)));
    }
    settings.output.result(card, |text| {
        let selected = match &selected {
            Ok(selected) => selected.first().map(|one| &one.interface).ok_or("there is none"),
            Err(why) => Err(why.as_str()),
        };
        output::card(text, card, selected, signature);
        text.line_if_any("Source version", form.unwrap_or_default());
    })
}
