//! Keyed digests of credentials, so that caches don't hold the credentials themselves.

use ring::{
    hmac,
    rand::{SecureRandom as _, SystemRandom},
};
use siphasher::sip128::SipHasher24;

use super::{Rejection, RequestCredential};

/// Computes digests with a random key, so that they are of no use outside this process.
#[derive(Debug)]
pub(super) struct CredentialHasher(Option<hmac::Key>);

impl CredentialHasher {
    /// Without a random key there are no digests, and no credential is verified by them.
    pub(super) fn new() -> Self {
        Self(hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok())
    }

    pub(super) fn digest<'c>(
        &self,
        credentials: impl IntoIterator<Item = &'c RequestCredential>,
    ) -> Result<[u8; 32], Rejection> {
        let key = self.0.as_ref().ok_or_else(|| Rejection::unavailable("no random numbers"))?;
        let mut context = hmac::Context::with_key(key);
        for credential in credentials {
            credential.digest_into(&mut context);
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.sign().as_ref());
        Ok(digest)
    }
}

/// Computes digests of signed tokens by SipHash-2-4, an authentication code that takes a tenth of the
/// time of an HMAC. Its 128 bits suffice, because nobody sees the digests: a forged token can only be
/// tried, and finds one of `n` cached tokens with a probability of n / 2^128.
pub(super) struct TokenHasher(Option<[u8; 16]>);

impl TokenHasher {
    /// Without a random key there are no digests, as for a [`CredentialHasher`].
    pub(super) fn new() -> Self {
        let mut key = [0; 16];
        Self(SystemRandom::new().fill(&mut key).is_ok().then_some(key))
    }

    pub(super) fn digest(&self, token: &str) -> Option<u128> {
        Some(SipHasher24::new_with_key(self.0.as_ref()?).hash(token.as_bytes()).as_u128())
    }
}
