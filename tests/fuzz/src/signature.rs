//! Signatures of cards.

use std::{cell::RefCell, sync::LazyLock};

use a2a_kit_auth::{
    card::{CanonicalForm, CardVerification, JwsCardSigner, JwsCardVerifier, TrustStore},
    jose::{Algorithm, SigningKey},
};
use tokio::runtime::{Builder, Runtime};

static KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate(Algorithm::EdDsa).expect("a key"));

thread_local! {
    static RUNTIME: RefCell<Runtime> =
        RefCell::new(Builder::new_current_thread().build().expect("a runtime"));
}

/// A served card. It verifies if and only if it was signed here.
pub(crate) fn verify(input: &[u8]) {
    let verifier = JwsCardVerifier::new(TrustStore::new().with_key(KEY.public().clone()));
    let verify =
        |card: &[u8]| RUNTIME.with_borrow(|runtime| runtime.block_on(verifier.verify(card)));
    let is_verified = |card: &[u8]| matches!(verify(card), CardVerification::Verified(_));
    assert!(!is_verified(input), "a forged signature must not verify");
    for form in [CanonicalForm::Members, CanonicalForm::AllMembers, CanonicalForm::Received] {
        let Ok(canonical) = form.canonicalize(input) else { continue };
        let again = form.canonicalize(&canonical).expect("what is canonical is a card");
        assert_eq!(again, canonical, "{form:?}");
    }
    if let Ok(signed) = JwsCardSigner::new(KEY.clone()).sign_json(input) {
        let signed = signed.to_string();
        assert!(is_verified(signed.as_bytes()), "{:?}: {signed}", verify(signed.as_bytes()));
    }
}
