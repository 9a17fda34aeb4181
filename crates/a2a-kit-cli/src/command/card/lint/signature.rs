//! Signatures of the card.

use a2a_kit_auth::card::{CardVerification, SignatureError};
use a2a_kit_lint::{
    Findings,
    network::{BROKEN_SIGNATURE, UNVERIFIED_SIGNATURE},
};

/// Adds a finding for each signature that is not valid, unless one is.
pub(super) fn check(verification: &CardVerification, findings: &mut Findings) {
    let CardVerification::Unverifiable(rejected) = verification else { return };
    for (index, one) in rejected.iter().enumerate() {
        let rule = match one.reason {
            SignatureError::UnknownKey
            | SignatureError::UntrustedAddress(_)
            | SignatureError::Keys(_) => &UNVERIFIED_SIGNATURE,
            _ => &BROKEN_SIGNATURE,
        };
        findings.add(rule, format!("/signatures/{index}"), one.to_string());
    }
}

#[cfg(test)]
mod tests {
    use a2a_kit_auth::card::{JwsCardVerifier, TrustStore};
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn malformed_signature_is_broken_and_one_of_an_unknown_key_unverified() {
        let header = json!({"alg": "ES256", "kid": "k", "typ": "JOSE"}).to_string();
        let header = BASE64_URL_SAFE_NO_PAD.encode(header);
        for (protected, signature, id) in
            [("e30", "eA", "broken-signature"), (&header, "eA", "unverified-signature")]
        {
            let card = json!({"signatures": [{"protected": protected, "signature": signature}]});
            let card = card.to_string();
            let verifier = JwsCardVerifier::new(TrustStore::new());
            let mut findings = Findings::default();
            check(&verifier.verify(card.as_bytes()).await, &mut findings);
            let found = &findings.list()[0];
            assert_eq!((found.rule.id, found.pointer.as_deref()), (id, Some("/signatures/0")));
        }
    }
}
