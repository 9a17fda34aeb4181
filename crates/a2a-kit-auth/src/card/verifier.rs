//! Verification of card signatures (spec §8.4.3).

use std::time::SystemTime;

use a2a_kit_operations::{CardSignature, CardVerifier};
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::{
    CanonicalForm, CardVerification, RejectedSignature, SignatureError, TrustStore,
    VerifiedSignature, header::Header, schema,
};

/// Verifies that a card is signed with a trusted key.
///
/// It works on the received bytes, as a card may have members that this SDK does not know. One
/// valid signature is enough, so that keys can be rotated.
#[derive(Clone, Debug)]
pub struct JwsCardVerifier {
    trust: TrustStore,
    forms: Vec<CanonicalForm>,
}

/// Maximum number of signatures of a card that are checked.
const MAX_SIGNATURES: usize = 16;

/// One of the `signatures` of a card.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    protected: &'a str,
    signature: &'a str,
    header: Option<&'a Map<String, Value>>,
}

/// An encoded form of the card, to be appended to a protected header.
struct Payload {
    form: CanonicalForm,
    encoded: String,
}

impl JwsCardVerifier {
    /// Creates a verifier with the keys of `trust`, which accepts the forms that are compatible
    /// with the specification: [`CanonicalForm::Members`], [`CanonicalForm::AllMembers`] and
    /// [`CanonicalForm::Received`].
    pub fn new(trust: TrustStore) -> Self {
        Self { trust, forms: CanonicalForm::SPECIFIED.to_vec() }
    }

    /// Also accepts signatures over [`CanonicalForm::WithoutEmpty`], as made by the official Python
    /// and JavaScript SDKs. Not needed for cards without empty members.
    #[must_use]
    pub fn with_form_without_empty(mut self) -> Self {
        if !self.forms.contains(&CanonicalForm::WithoutEmpty) {
            self.forms.push(CanonicalForm::WithoutEmpty);
        }
        self
    }

    /// Verifies the signatures of a card, given as received.
    pub async fn verify(&self, json: &[u8]) -> CardVerification {
        self.verify_at(json, SystemTime::now()).await
    }

    /// Like [`verify`](Self::verify), with the keys that are valid at a time.
    pub async fn verify_at(&self, json: &[u8], now: SystemTime) -> CardVerification {
        let unreadable = |reason| {
            CardVerification::Unverifiable(vec![RejectedSignature { key_id: None, reason }])
        };
        let card = match schema::read(json) {
            Ok(card) => card,
            Err(error) => return unreadable(SignatureError::NotACard(error)),
        };
        let entries = match card.get("signatures") {
            None | Some(Value::Null) => return CardVerification::Absent,
            Some(Value::Array(entries)) if entries.is_empty() => return CardVerification::Absent,
            Some(Value::Array(entries)) => entries,
            Some(_) => return unreadable(SignatureError::Malformed("signatures is not a list")),
        };
        let payloads = self.payloads(&card);
        let mut rejected = Vec::new();
        for entry in entries.iter().take(MAX_SIGNATURES) {
            match self.check(entry, &card, &payloads, now).await {
                Ok(verified) => return CardVerification::Verified(verified),
                Err(rejection) => rejected.push(rejection),
            }
        }
        CardVerification::Unverifiable(rejected)
    }

    /// The distinct encoded forms of a card.
    fn payloads(&self, card: &Map<String, Value>) -> Vec<Payload> {
        let mut payloads: Vec<Payload> = Vec::new();
        for form in &self.forms {
            // A card of an older revision may not have a form of 1.0.
            let Ok(canonical) = form.write(card) else { continue };
            let encoded = URL_SAFE_NO_PAD.encode(canonical);
            if !payloads.iter().any(|known| known.encoded == encoded) {
                payloads.push(Payload { form: *form, encoded });
            }
        }
        payloads
    }

    async fn check(
        &self,
        entry: &Value,
        card: &Map<String, Value>,
        payloads: &[Payload],
        now: SystemTime,
    ) -> Result<VerifiedSignature, RejectedSignature> {
        let malformed = |reason| RejectedSignature { key_id: None, reason };
        let entry = Entry::read(entry).map_err(malformed)?;
        let header = Header::read(entry.protected, entry.header).map_err(malformed)?;
        self.check_with(&header, entry, card, payloads, now)
            .await
            .map_err(|reason| RejectedSignature { key_id: Some(header.key_id), reason })
    }

    async fn check_with(
        &self,
        header: &Header,
        entry: Entry<'_>,
        card: &Map<String, Value>,
        payloads: &[Payload],
        now: SystemTime,
    ) -> Result<VerifiedSignature, SignatureError> {
        // Before fetching keys: an unsupported algorithm must not cause a request.
        let algorithm = header.algorithm.clone()?;
        let signature = URL_SAFE_NO_PAD
            .decode(entry.signature)
            .map_err(|_error| SignatureError::Malformed("signature is not base64url"))?;
        let key = self.trust.key(header, now).await?;
        // The key determines the algorithm, never the signature.
        if !key.supports(algorithm) {
            return Err(SignatureError::OtherAlgorithm(key.algorithm()));
        }
        let is_over = |payload: &&Payload| {
            let input = format!("{}.{}", entry.protected, payload.encoded);
            key.verify(algorithm, input.as_bytes(), &signature).is_ok()
        };
        let form = payloads.iter().find(is_over).ok_or(SignatureError::Signature)?.form;
        let covered = Bytes::from(form.covered(card).map_err(SignatureError::NotACard)?);
        Ok(VerifiedSignature { key_id: header.key_id.clone(), algorithm, form, covered })
    }
}

impl<'a> Entry<'a> {
    fn read(entry: &'a Value) -> Result<Self, SignatureError> {
        let text = |name| entry.get(name).and_then(Value::as_str);
        let missing = SignatureError::Malformed("protected or signature is missing");
        let (Some(protected), Some(signature)) = (text("protected"), text("signature")) else {
            return Err(missing);
        };
        let header = match entry.get("header") {
            None | Some(Value::Null) => None,
            Some(Value::Object(header)) => Some(header),
            Some(_) => {
                return Err(SignatureError::Malformed("unprotected header is not an object"));
            }
        };
        Ok(Self { protected, signature, header })
    }
}

#[async_trait]
impl CardVerifier for JwsCardVerifier {
    async fn verify(&self, json: &[u8]) -> CardSignature {
        Self::verify(self, json).await.into()
    }
}
