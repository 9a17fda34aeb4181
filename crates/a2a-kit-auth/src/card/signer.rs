//! Signing of agent cards (spec §8.4.2).

use a2a_core::{AgentCard, Error, ParseError, v1::AgentCardSignature, well_known::Struct};
use a2a_kit_operations::CardSigner;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use derive_setters::Setters;
use serde_json::{Map, Value};

use super::{CanonicalForm, header::Header, schema};
use crate::jose::{JwkSet, KeyError, SigningKey};

/// Signs agent cards with a key.
///
/// The signature covers the members of 1.0 ([`CanonicalForm::Members`]), so it stays valid when the
/// card is served with members of older revisions in addition.
///
/// To rotate a key, sign with both keys for as long as clients cache cards: signing preserves the
/// signatures of other keys.
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
pub struct JwsCardSigner {
    #[setters(skip)]
    key: SigningKey,
    /// Sets the key id (`kid`).
    #[setters(into)]
    key_id: String,
    /// Sets the URL of the published keys (`jku`), for verifiers that trust its host.
    #[setters(into, strip_option)]
    url: Option<String>,
    /// Sets the unprotected header, which the signature does not cover.
    #[setters(strip_option)]
    header: Option<Struct>,
    /// Sets the canonical form. Default: [`CanonicalForm::Members`].
    form: CanonicalForm,
    /// Keeps existing signatures by the same key, for example those over another form.
    #[setters(bool, rename = "with_existing_signatures")]
    keeps_existing: bool,
}

/// Why a card could not be signed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The input is not a valid card.
    #[error(transparent)]
    NotACard(#[from] ParseError),
    /// Signing failed.
    #[error(transparent)]
    Key(#[from] KeyError),
}

a2a_core::debug_as_chain!(SignError);

impl From<serde_json::Error> for SignError {
    fn from(error: serde_json::Error) -> Self {
        Self::NotACard(schema::not_a_card(error))
    }
}

impl JwsCardSigner {
    /// Signs with a key, identified by its thumbprint. The algorithm is that of the key.
    pub fn new(key: SigningKey) -> Self {
        let key_id = key.public().id().to_owned();
        Self {
            key,
            key_id,
            url: None,
            header: None,
            form: CanonicalForm::Members,
            keeps_existing: false,
        }
    }

    /// The key id (`kid`).
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The keys to publish for verifiers.
    pub fn jwks(&self) -> JwkSet {
        JwkSet::from_iter([self.key.public().clone().with_id(&self.key_id)])
    }

    /// Adds a signature to a card. Replaces an existing one by the same key, and preserves those by
    /// other keys.
    ///
    /// The card must not be modified afterwards. A [`Server`](https://docs.rs/a2a), which adds its
    /// interfaces to the card, signs it itself with a [`CardSigner`] such as this.
    ///
    /// # Errors
    ///
    /// [`SignError::Key`].
    pub fn sign(&self, mut card: AgentCard) -> Result<AgentCard, SignError> {
        let json = serde_json::to_vec(&card)?;
        let signature = self.signature(&schema::read(&json)?)?;
        card.signatures.retain(|one| self.keeps(&one.protected));
        card.signatures.push(signature);
        Ok(card)
    }

    /// Like [`sign`](Self::sign) for a card as JSON, preserving unknown members.
    ///
    /// # Errors
    ///
    /// [`SignError`].
    pub fn sign_json(&self, json: &[u8]) -> Result<Value, SignError> {
        let mut card = schema::read(json)?;
        let signature = serde_json::to_value(self.signature(&card)?)?;
        let mut signatures = match card.remove("signatures") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(signatures)) => signatures,
            Some(_) => return Err(schema::not_a_card("signatures has the wrong type").into()),
        };
        signatures.retain(|one| {
            one.get("protected").and_then(Value::as_str).is_none_or(|header| self.keeps(header))
        });
        signatures.push(signature);
        card.insert("signatures".to_owned(), Value::Array(signatures));
        Ok(Value::Object(card))
    }

    fn keeps(&self, protected: &str) -> bool {
        let is_own = Header::read(protected, None).is_ok_and(|one| one.key_id == self.key_id);
        self.keeps_existing || !is_own
    }

    fn signature(&self, card: &Map<String, Value>) -> Result<AgentCardSignature, SignError> {
        let canonical = self.form.write(card)?;
        let protected = Header::write(self.key.algorithm(), &self.key_id, self.url.as_deref());
        let mut input = protected.clone();
        input.push('.');
        URL_SAFE_NO_PAD.encode_string(canonical, &mut input);
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(input.as_bytes())?);
        Ok(AgentCardSignature { protected, signature, header: self.header.clone() })
    }
}

impl CardSigner for JwsCardSigner {
    fn sign(&self, card: AgentCard) -> a2a_core::Result<AgentCard> {
        Ok(Self::sign(self, card)?)
    }
}

impl From<SignError> for Error {
    fn from(error: SignError) -> Self {
        Self::internal(error)
    }
}
