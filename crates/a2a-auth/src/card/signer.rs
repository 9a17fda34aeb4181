//! Putting a signature into a card (spec §8.4.2).

use a2a_core::{AgentCard, v1::AgentCardSignature, well_known::Struct};
use a2a_operations::CardSigner;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::{Form, NotACard, document, header::Header, schema::Unfit};
use crate::jose::{JwkSet, KeyError, SigningKey};

/// Signs agent cards with a key.
///
/// A card that is served with members of older revisions beside those of 1.0 stays signed, as the
/// signature is over the members of 1.0 ([`Form::Members`]).
///
/// To exchange a key, sign with both for as long as cards are kept by those who fetched them: a
/// signature leaves those by other keys where they are.
#[derive(Clone, Debug)]
pub struct Signer {
    key: SigningKey,
    key_id: String,
    url: Option<String>,
    header: Option<Struct>,
    form: Form,
    keeps_own: bool,
}

/// Why a card could not be signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// There is no card.
    #[error(transparent)]
    NotACard(#[from] NotACard),
    /// The key makes no signature.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl From<serde_json::Error> for SignError {
    fn from(error: serde_json::Error) -> Self {
        Self::NotACard(error.into())
    }
}

impl From<Unfit> for SignError {
    fn from(Unfit(reason): Unfit) -> Self {
        serde_json::Error::into(serde::de::Error::custom(reason))
    }
}

impl Signer {
    /// Signs with a key, which is named by its thumbprint. The algorithm is that of the key.
    pub fn new(key: SigningKey) -> Self {
        let key_id = key.public().id().to_owned();
        Self { key, key_id, url: None, header: None, form: Form::Members, keeps_own: false }
    }

    /// Names the key otherwise (`kid`).
    #[must_use]
    pub fn with_key_id(mut self, id: impl Into<String>) -> Self {
        self.key_id = id.into();
        self
    }

    /// Says where the keys are published (`jku`), for those who trust that host.
    #[must_use]
    pub fn with_url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Adds an unprotected header, of which nobody may believe anything.
    #[must_use]
    pub fn with_header(mut self, header: Struct) -> Self {
        self.header = Some(header);
        self
    }

    /// Signs another form of the card. Default: [`Form::Members`].
    #[must_use]
    pub fn with_form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// Leaves signatures by the same key where they are too, for example those over another form.
    #[must_use]
    pub fn with_own_kept(mut self) -> Self {
        self.keeps_own = true;
        self
    }

    /// The id under which the key is named.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The keys that those who verify need, to be published.
    pub fn jwks(&self) -> JwkSet {
        JwkSet::from_iter([self.key.public().clone().with_id(&self.key_id)])
    }

    /// Adds a signature to a card. One by the same key is replaced, those by others stay.
    ///
    /// The card must not be changed any more, also not by whoever serves it: a
    /// [`Server`](https://docs.rs/a2a) that adds its interfaces signs by itself, as it is a
    /// [`CardSigner`].
    ///
    /// # Errors
    ///
    /// [`SignError::Key`].
    pub fn sign(&self, mut card: AgentCard) -> Result<AgentCard, SignError> {
        let json = serde_json::to_vec(&card)?;
        let signature = self.signature(&document::read(&json)?)?;
        card.signatures.retain(|one| self.keeps(&one.protected));
        card.signatures.push(signature);
        Ok(card)
    }

    /// The same for a card as JSON, whose other members stay as they are.
    ///
    /// # Errors
    ///
    /// [`SignError`].
    pub fn sign_json(&self, json: &[u8]) -> Result<Value, SignError> {
        let mut card = document::read(json)?;
        let signature = serde_json::to_value(self.signature(&card)?)?;
        let mut signatures = match card.remove("signatures") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(signatures)) => signatures,
            Some(_) => return Err(Unfit("signatures is of another type".to_owned()).into()),
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
        self.keeps_own || !is_own
    }

    fn signature(&self, card: &Map<String, Value>) -> Result<AgentCardSignature, SignError> {
        let canonical = self.form.write(card)?;
        let protected = Header::write(self.key.algorithm(), &self.key_id, self.url.as_deref())?;
        let mut input = protected.clone();
        input.push('.');
        URL_SAFE_NO_PAD.encode_string(canonical, &mut input);
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(input.as_bytes())?);
        Ok(AgentCardSignature { protected, signature, header: self.header.clone() })
    }
}

impl CardSigner for Signer {
    fn sign(&self, card: AgentCard) -> a2a_core::Result<AgentCard> {
        Ok(Self::sign(self, card)?)
    }
}
