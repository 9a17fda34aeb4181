//! `a2a card sign`: signs a card.

use std::path::PathBuf;

use a2a_kit_auth::{
    card::{CanonicalForm, JwsCardSigner, SignError},
    jose::{Algorithm, SigningKey},
};
use a2a_kit_client::Document;
use clap::{Args, ValueHint};
use http::Uri;

use crate::{
    failure::{Code, Failure},
    output::Output,
    serve::signing_key,
};

#[derive(Args, Debug)]
pub(crate) struct Sign {
    /// File with the card (JSON)
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// File with the private key (PEM or JWK): P-256, Ed25519 or RSA
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key: PathBuf,
    /// Key ID [default: the ID in the file, or the thumbprint]
    #[arg(long, value_name = "ID")]
    kid: Option<String>,
    /// Expected algorithm of the key: ES256, EdDSA or RS256
    #[arg(long, value_name = "ALG")]
    alg: Option<Algorithm>,
    /// URL of the published public key (`jku`)
    #[arg(long, value_name = "URL")]
    jku: Option<Uri>,
    /// Keep an earlier signature by the same key
    #[arg(long)]
    append: bool,
    /// Omit empty members from the signed content; only SDKs that do the same can verify it
    #[arg(long)]
    without_empty: bool,
    /// File for the signed card [default: standard output]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
}

impl Sign {
    pub(super) fn run(&self, output: Output) -> Result<(), Failure> {
        let key =
            signing_key("--key", &self.key, |text| match text.trim_start().starts_with('{') {
                true => SigningKey::from_jwk(text),
                false => SigningKey::from_pem(text),
            })?;
        if let Some(wanted) = self.alg
            && wanted != key.algorithm()
        {
            let is = key.algorithm();
            return Err(Failure::usage(format!("--alg {wanted}: the key is for {is}")));
        }
        let mut signer = JwsCardSigner::new(key);
        if let Some(id) = &self.kid {
            if id.is_empty() {
                return Err(Failure::usage("--kid: empty key ID"));
            }
            signer = signer.with_key_id(id);
        }
        if let Some(url) = &self.jku {
            if url.scheme().is_none() {
                return Err(Failure::usage(format!("--jku {url}: not an absolute URL")));
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
                output.warning(&format!("invalid agent card: {text}"));
            }
        }
        let Some(out) = &self.out else { return output.json(&signed) };
        let written = serde_json::to_string_pretty(&signed)
            .map_err(|error| Failure::internal(format!("failed to encode the card: {error}")))?;
        std::fs::write(out, written + "\n")
            .map_err(|error| Failure::usage(format!("--out {}: {error}", out.display())))?;
        output.note(&format!(
            "signed card with key {} written to {}",
            signer.key_id(),
            out.display()
        ));
        Ok(())
    }
}
