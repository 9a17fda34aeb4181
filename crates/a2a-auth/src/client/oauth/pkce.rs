//! Random texts, and the proof that who began an authorization also ends it (RFC 7636).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
};

use crate::client::CredentialError;

/// Returns a text of 256 random bits, fit for a URL.
pub(super) fn random() -> Result<String, CredentialError> {
    let mut bytes = [0; 32];
    let failed = |_unspecified| CredentialError::unavailable("there is no randomness");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the challenge for a verifier, by the method S256.
pub(super) fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn the_challenge_is_that_of_the_standards_example() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random().unwrap(), random().unwrap());
        assert!(one != other && one.len() == 43, "{one} {other}");
    }
}
