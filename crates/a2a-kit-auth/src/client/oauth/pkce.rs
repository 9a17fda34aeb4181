//! Proof Key for Code Exchange (RFC 7636).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
};

use crate::client::CredentialError;

/// Returns 256 random bits in base64url.
pub(super) fn random() -> Result<String, CredentialError> {
    let mut bytes = [0; 32];
    let failed = |_unspecified| CredentialError::unavailable("no random bytes available");
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the S256 challenge of a verifier.
pub(super) fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn challenge_matches_the_rfc_example() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random().unwrap(), random().unwrap());
        assert!(one != other && one.len() == 43, "{one} {other}");
    }
}
