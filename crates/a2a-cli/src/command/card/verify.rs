//! `a2a card verify`: says whether a card is signed with a key that is trusted.

use a2a_auth::card::{Rejected, Verification};
use clap::Args;
use serde_json::{Value, json};

use super::trust::Trust;
use crate::{
    failure::{Code, Failure},
    output::{Output, Text},
    settings::Settings,
};

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Agent whose card it is, as with --agent-card
    #[arg(value_name = "REF")]
    reference: Option<String>,
    /// Fail where the card is not signed
    #[arg(long)]
    require: bool,
    #[command(flatten)]
    trust: Trust,
}

impl Verify {
    pub(super) async fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        if !self.trust.is_some() {
            return Err(Failure::usage("nobody is trusted")
                .with_hint("name keys with --jwks, or hosts that publish them with --trust-jku"));
        }
        let verifier = self.trust.verifier(settings)?;
        let settings = Settings {
            agent_card: self.reference.clone().or_else(|| settings.agent_card.clone()),
            ..settings.clone()
        };
        let document = crate::target::document(&settings, output).await?;
        let verification = verifier.verify(&document.json).await;
        output.result(&report(&verification), || text(&verification))?;
        match verification {
            Verification::Verified(_) => Ok(()),
            Verification::Absent if !self.require => Ok(()),
            _ => Err(Failure::new(Code::Reported, "")),
        }
    }
}

fn report(verification: &Verification) -> Value {
    match verification {
        Verification::Verified(verified) => json!({
            "signature": "verified",
            "keyId": verified.key_id(),
            "algorithm": verified.algorithm().as_str(),
            "form": verified.form().to_string(),
        }),
        Verification::Unverifiable(rejected) => {
            let reason =
                |one: &Rejected| json!({"keyId": one.key_id, "reason": one.reason.to_string()});
            let rejected: Vec<_> = rejected.iter().map(reason).collect();
            json!({"signature": "unverifiable", "rejected": rejected})
        }
        // What later releases tell apart is not known to be good.
        _ => json!({"signature": "absent"}),
    }
}

fn text(verification: &Verification) -> Text {
    let mut text = Text::new();
    text.line("Signature", &verification.to_string());
    if let Verification::Verified(verified) = verification {
        text.line("Algorithm", verified.algorithm().as_str());
        text.line("Form", &verified.form().to_string());
    }
    text
}
