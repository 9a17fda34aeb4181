//! Signed tokens and published keys.

use std::sync::LazyLock;

use a2a_kit_auth::jose::{Algorithm, JwkSet, SignedToken, SigningKey};

static KEYS: LazyLock<Vec<SigningKey>> = LazyLock::new(|| {
    let key = |algorithm| SigningKey::generate(algorithm).expect("a key");
    vec![key(Algorithm::Es256), key(Algorithm::EdDsa)]
});

/// A token, or a key set. Only tokens signed here verify.
pub(crate) fn believe(input: &[u8]) {
    let _keys = serde_json::from_slice::<JwkSet>(input);
    let Ok(text) = std::str::from_utf8(input) else { return };
    for key in KEYS.iter() {
        let good = key.token(input).expect("it is signed");
        let token = SignedToken::parse(&good);
        match token {
            Ok(token) => {
                let signed = token.verify(key.public()).expect("our own token verifies");
                assert_eq!(signed, input, "what was signed comes back");
            }
            Err(error) => assert!(good.len() > 8 << 10, "{error}"),
        }
        if let Ok(token) = SignedToken::parse(text) {
            assert!(token.verify(key.public()).is_err(), "a forged token must not verify");
        }
    }
}
