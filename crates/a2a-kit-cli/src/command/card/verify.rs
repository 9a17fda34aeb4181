//! `a2a card verify`: verifies the signatures of a card.

use a2a_kit_auth::card::{CardVerification, RejectedSignature};
use clap::Args;
use serde_json::{Value, json};

use super::trust::Trust;
use crate::{
    agent,
    failure::{Code, Failure},
    output::Text,
    settings::Settings,
};

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Agent, as for --agent-card
    #[arg(value_name = "REF")]
    pub(super) reference: Option<String>,
    /// Fail if the card is not signed
    #[arg(long)]
    require: bool,
    #[command(flatten)]
    trust: Trust,
}

impl Verify {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        if !self.trust.is_some() {
            return Err(Failure::usage("no trusted keys")
                .with_hint("add keys with --jwks, or hosts that publish keys with --trust-jku"));
        }
        let verifier = self.trust.verifier(settings)?;
        let document = agent::document(settings).await?;
        let verification = verifier.verify(&document.json).await;
        settings.output.result(&report(&verification), |text| write(text, &verification))?;
        match verification {
            CardVerification::Verified(_) => Ok(()),
            CardVerification::Absent if !self.require => Ok(()),
            _ => Err(Failure::new(Code::Reported, "")),
        }
    }
}

fn report(verification: &CardVerification) -> Value {
    match verification {
        CardVerification::Verified(verified) => json!({
            "signature": "verified",
            "keyId": verified.key_id,
            "algorithm": verified.algorithm.as_str(),
            "form": verified.form.to_string(),
        }),
        CardVerification::Unverifiable(rejected) => {
            let reason = |one: &RejectedSignature| json!({"keyId": one.key_id, "reason": one.reason.to_string()});
            let rejected: Vec<_> = rejected.iter().map(reason).collect();
            json!({"signature": "unverifiable", "rejected": rejected})
        }
        // Variants of later releases are not known to be valid.
        _ => json!({"signature": "absent"}),
    }
}

fn write(text: &mut Text, verification: &CardVerification) {
    text.line("Signature", &verification.to_string());
    if let CardVerification::Verified(verified) = verification {
        text.line("Algorithm", verified.algorithm.as_str());
        text.line("Form", &verified.form.to_string());
    }
}
