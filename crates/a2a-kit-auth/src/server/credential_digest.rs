//! Keyed digests of credentials, so that caches don't hold the credentials themselves.

use ring::{hmac, rand::SystemRandom};

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
