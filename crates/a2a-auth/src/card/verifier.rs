//! Checking the signatures of a card (spec §8.4.3).

use std::time::SystemTime;

use a2a_operations::{CardSignature, CardVerifier};
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::{
    Form, MalformedHeader, Reason, Rejected, TrustStore, Verification, Verified, document,
    header::Header,
};
use crate::jose::{Algorithm, Jwk};

/// Says whether a card is signed with a key that is trusted.
///
/// It goes by the bytes that were received, as a card may have members that this SDK does not
/// know. One good signature is enough, so that keys can be exchanged: the others may be by keys
/// that are new, or gone.
#[derive(Clone, Debug)]
pub struct Verifier {
    trust: TrustStore,
    forms: Vec<Form>,
}

/// Signatures of one card that are looked at, at most.
const MAX_SIGNATURES: usize = 16;

/// One of the `signatures` of a card.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    protected: &'a str,
    signature: &'a str,
    header: Option<&'a Map<String, Value>>,
}

/// A form of the card, ready to be appended to a protected header.
struct Payload {
    form: Form,
    encoded: String,
}

impl Verifier {
    /// Creates one that believes the keys of `trust`, over each form that follows from the
    /// specification: [`Form::Members`], [`Form::AllMembers`] and [`Form::Received`].
    pub fn new(trust: TrustStore) -> Self {
        Self { trust, forms: Form::SPECIFIED.to_vec() }
    }

    /// Takes signatures over [`Form::WithoutEmpty`] too, as the official Python and JavaScript
    /// SDKs make them. For cards in which nothing is empty this is not needed.
    #[must_use]
    pub fn with_form_without_empty(mut self) -> Self {
        if !self.forms.contains(&Form::WithoutEmpty) {
            self.forms.push(Form::WithoutEmpty);
        }
        self
    }

    /// Checks the signatures of a card, as it was received.
    pub async fn verify(&self, json: &[u8]) -> Verification {
        self.verify_at(json, SystemTime::now()).await
    }

    /// The same, by the keys that are valid at a time.
    pub async fn verify_at(&self, json: &[u8], now: SystemTime) -> Verification {
        let unreadable =
            |reason| Verification::Unverifiable(vec![Rejected { key_id: None, reason }]);
        let card = match document::read(json) {
            Ok(card) => card,
            Err(error) => return unreadable(error.into()),
        };
        let entries = match card.get("signatures") {
            None | Some(Value::Null) => return Verification::Absent,
            Some(Value::Array(entries)) if entries.is_empty() => return Verification::Absent,
            Some(Value::Array(entries)) => entries,
            Some(_) => return unreadable(MalformedHeader("signatures is not a list").into()),
        };
        let payloads = self.payloads(&card);
        let mut rejected = Vec::new();
        for entry in entries.iter().take(MAX_SIGNATURES) {
            match self.check(entry, &payloads, now).await {
                Ok((header, algorithm, form)) => match form.covered(&card) {
                    Ok(covered) => {
                        return Verification::Verified(Verified {
                            key_id: header.key_id,
                            algorithm,
                            form,
                            covered: Bytes::from(covered),
                        });
                    }
                    // A form that was written once is written again.
                    Err(_unfit) => {
                        let key_id = Some(header.key_id);
                        rejected.push(Rejected { key_id, reason: Reason::Signature });
                    }
                },
                Err(rejection) => rejected.push(rejection),
            }
        }
        Verification::Unverifiable(rejected)
    }

    /// What signatures may be over, each form once.
    fn payloads(&self, card: &Map<String, Value>) -> Vec<Payload> {
        let mut payloads: Vec<Payload> = Vec::new();
        for form in &self.forms {
            // A card of an older revision may have no form of 1.0.
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
        payloads: &[Payload],
        now: SystemTime,
    ) -> Result<(Header, Algorithm, Form), Rejected> {
        let malformed = |error: MalformedHeader| Rejected { key_id: None, reason: error.into() };
        let entry = Entry::read(entry).map_err(malformed)?;
        let header = Header::read(entry.protected, entry.header).map_err(malformed)?;
        match self.check_with(&header, entry, payloads, now).await {
            Ok((algorithm, form)) => Ok((header, algorithm, form)),
            Err(reason) => Err(Rejected { key_id: Some(header.key_id), reason }),
        }
    }

    async fn check_with(
        &self,
        header: &Header,
        entry: Entry<'_>,
        payloads: &[Payload],
        now: SystemTime,
    ) -> Result<(Algorithm, Form), Reason> {
        // Before any key is asked for: what can't be trusted causes no request.
        let algorithm = header.algorithm.clone()?;
        let signature = URL_SAFE_NO_PAD
            .decode(entry.signature)
            .map_err(|_error| MalformedHeader("it is not base64url"))?;
        let key = self.trust.key(header, now).await?;
        // The key says what it is for, never the signature.
        if !key.supports(algorithm) {
            return Err(Reason::OtherAlgorithm(key.algorithm()));
        }
        let is_over =
            |payload: &&Payload| is_signed(&key, algorithm, entry.protected, payload, &signature);
        let payload = payloads.iter().find(is_over).ok_or(Reason::Signature)?;
        Ok((algorithm, payload.form))
    }
}

fn is_signed(
    key: &Jwk,
    algorithm: Algorithm,
    protected: &str,
    payload: &Payload,
    signature: &[u8],
) -> bool {
    let input = format!("{protected}.{}", payload.encoded);
    key.verify(algorithm, input.as_bytes(), signature).is_ok()
}

impl<'a> Entry<'a> {
    fn read(entry: &'a Value) -> Result<Self, MalformedHeader> {
        let text = |name| entry.get(name).and_then(Value::as_str);
        let lacks = MalformedHeader("it lacks protected or signature");
        let (Some(protected), Some(signature)) = (text("protected"), text("signature")) else {
            return Err(lacks);
        };
        let header = match entry.get("header") {
            None | Some(Value::Null) => None,
            Some(Value::Object(header)) => Some(header),
            Some(_) => return Err(MalformedHeader("its unprotected header is not an object")),
        };
        Ok(Self { protected, signature, header })
    }
}

#[async_trait]
impl CardVerifier for Verifier {
    async fn verify(&self, json: &[u8]) -> CardSignature {
        Self::verify(self, json).await.into()
    }
}
