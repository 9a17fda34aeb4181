//! `a2a card get`: shows a card.

use std::sync::Arc;

use a2a_auth::card::Verification;
use a2a_client::Document;
use a2a_core::{AgentCard, ProtocolVersion, v1::GetExtendedAgentCardRequest};
use clap::Args;

use super::trust::Trust;
use crate::{
    failure::{Code, Failure},
    output,
    output::Output,
    settings::{Settings, value},
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// The card for authenticated callers
    #[arg(long)]
    extended: bool,
    /// Check the card against the rules of the protocol
    #[arg(long)]
    validate: bool,
    #[command(flatten)]
    trust: Trust,
}

impl Get {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        if self.validate || !self.extended {
            let document = crate::target::document(settings, output).await?;
            if self.validate {
                let violations = document.violations();
                if !violations.is_empty() {
                    return Err(crate::target::invalid_card(&violations));
                }
            }
            if !self.extended {
                let (document, signature) = self.verified(document, settings).await?;
                let form = Some(document.version)
                    .filter(|form| settings.verbose && *form != ProtocolVersion::LATEST);
                return show(&document.card, form, &signature, settings, output);
            }
        }
        let target = Target::connect(settings, output).await?;
        target.require_extended_card()?;
        let request = target.call(GetExtendedAgentCardRequest::default());
        let card = target.unary(target.agent().get_extended_agent_card(request)).await?;
        // It has lost the form in which it was received; what is signed in it is still there.
        let signature = match serde_json::to_vec(&card) {
            Ok(json) => self.signature(&json, settings).await?.1,
            Err(_) => "unverifiable (not checked)".to_owned(),
        };
        show(&card, None, &signature, settings, output)
    }

    /// Says what is known of the signatures of a card, and returns it as far as it is vouched
    /// for.
    async fn verified(
        &self,
        document: Document,
        settings: &Settings,
    ) -> Result<(Document, String), Failure> {
        let (verification, text) = self.signature(&document.json, settings).await?;
        let Some(Verification::Verified(signed)) = verification else {
            return Ok((document, text));
        };
        let mut signed = Document::read(signed.covered().clone())
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
    ) -> Result<(Option<Verification>, String), Failure> {
        let verification = self.trust.verifier(settings)?.verify(json).await;
        let is_absent = matches!(verification, Verification::Absent);
        if self.trust.is_some() || is_absent {
            let text = verification.to_string();
            return Ok((Some(verification), text));
        }
        Ok((None, "unverifiable (not checked: nobody is trusted)".to_owned()))
    }
}

/// Prints a card, what is known of its signatures, and the revision in whose `form` it was
/// written where that is given.
fn show(
    card: &AgentCard,
    form: Option<ProtocolVersion>,
    signature: &str,
    settings: &Settings,
    output: Output,
) -> Result<(), Failure> {
    let selected = crate::target::select(card, settings).ok();
    let form = form.map(value::version_name);
    if let (true, Some(form)) = (output.is_json(), form) {
        output.note(&format!("the card is in the form of {form}"));
    }
    if output.is_json() {
        output.diagnostic(&format!("signature: {}", output::escaped(signature)));
    }
    output.result(card, || {
        let mut text = output::card(card, selected.as_ref().map(|one| &one.interface), signature);
        text.line_if_any("Source version", form.unwrap_or_default());
        text
    })
}
