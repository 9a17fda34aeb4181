//! Keyed digests of credentials, so that caches don't hold the credentials themselves.

use ring::{hmac, rand::SystemRandom};

use super::RequestCredential;

/// Computes digests with a random key, so that they are of no use outside this process.
#[derive(Debug)]
pub(super) struct CredentialHasher(Option<hmac::Key>);

impl CredentialHasher {
    /// Without a random key there are no digests, and nothing is cached.
    pub(super) fn new() -> Self {
        Self(hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok())
    }

    pub(super) fn digest<'c>(
        &self,
        credentials: impl IntoIterator<Item = &'c RequestCredential>,
    ) -> Option<[u8; 32]> {
        let mut context = hmac::Context::with_key(self.0.as_ref()?);
        for credential in credentials {
            credential.digest_into(&mut context);
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.sign().as_ref());
        Some(digest)
    }
}
