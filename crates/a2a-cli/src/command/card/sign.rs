//! `a2a card sign`: puts a signature into a card.

use std::path::PathBuf;

use a2a_auth::{
    card::{CanonicalForm, SignError, Signer},
    jose::Algorithm,
};
use a2a_client::Document;
use clap::{Args, ValueHint};
use http::Uri;

use super::trust;
use crate::{
    failure::{Code, Failure},
    output::Output,
};

#[derive(Args, Debug)]
pub(crate) struct Sign {
    /// File with the card, as JSON
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Private key, as PEM or JSON: P-256, Ed25519 or RSA
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: PathBuf,
    /// Id of the key; without it, the one that it comes with, or its thumbprint
    #[arg(long, value_name = "ID")]
    kid: Option<String>,
    /// Algorithm that the key has to be for: ES256, EdDSA or RS256
    #[arg(long, value_name = "ALG")]
    alg: Option<Algorithm>,
    /// URL at which the public key is published, for those who trust that host
    #[arg(long, value_name = "URL")]
    jku: Option<Uri>,
    /// Keep a signature that the same key has made before
    #[arg(long)]
    append: bool,
    /// Leave out what is empty in the card, as some SDKs do; only they verify that
    #[arg(long)]
    without_empty: bool,
    /// Write the signed card here
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
}

impl Sign {
    pub(super) fn run(&self, output: Output) -> Result<(), Failure> {
        let key = trust::signing_key("--key", &self.key)?;
        if let Some(wanted) = self.alg
            && wanted != key.algorithm()
        {
            let is = key.algorithm();
            return Err(Failure::usage(format!("--alg {wanted}: the key signs with {is}")));
        }
        let mut signer = Signer::new(key);
        if let Some(id) = &self.kid {
            if id.is_empty() {
                return Err(Failure::usage("--kid is empty"));
            }
            signer = signer.with_key_id(id);
        }
        if let Some(url) = &self.jku {
            if url.scheme().is_none() {
                return Err(Failure::usage(format!("--jku {url} is not a URL")));
            }
            signer = signer.with_url(url.to_string());
        }
        if self.append {
            signer = signer.with_existing_signatures();
        }
        if self.without_empty {
            signer = signer.with_form(CanonicalForm::WithoutEmpty);
        }
        let place = self.file.display();
        let card = std::fs::read(&self.file)
            .map_err(|error| Failure::new(Code::CardNotFound, format!("{place}: {error}")))?;
        let signed = signer.sign_json(&card).map_err(|error| match error {
            SignError::NotACard(error) => {
                Failure::new(Code::CardInvalid, format!("{place}: {error}"))
            }
            error => Failure::internal(format!("{place}: {error}")),
        })?;
        if let Ok(document) = Document::read(card.into()) {
            for violation in document.violations() {
                let text = format!("{} {}", violation.field, violation.description);
                output.warning(&format!("the card breaks a rule: {text}"));
            }
        }
        let Some(out) = &self.out else { return output.json(&signed) };
        let written = serde_json::to_string_pretty(&signed)
            .map_err(|error| Failure::internal(format!("can't encode the card: {error}")))?;
        std::fs::write(out, written + "\n")
            .map_err(|error| Failure::usage(format!("--out {}: {error}", out.display())))?;
        output.note(&format!("signed with {}, in {}", signer.key_id(), out.display()));
        Ok(())
    }
}
