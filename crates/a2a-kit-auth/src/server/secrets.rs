//! Static secrets: API keys and bearer tokens.

use a2a_core::{ParseError, v1::security_scheme::Scheme};
use a2a_kit_operations::Caller;
use async_trait::async_trait;
use ring::digest;
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::{Attempt, Rejection, RequestCredential, SchemeVerifier};

/// API keys and their callers. Only the SHA-256 of each key is kept.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys(Secrets);

/// Static bearer tokens and their callers. Only the SHA-256 of each token is kept.
#[derive(Clone, Debug, Default)]
pub struct BearerTokens(Secrets);

macro_rules! static_secrets {
    ($type:ident, $credential:ident, $with:ident, $what:literal, $other:literal, $supports:expr) => {
        impl $type {
            #[doc = concat!("Creates an empty set of ", $what, "s.")]
            pub fn new() -> Self {
                Self::default()
            }

            #[doc = concat!("Adds a ", $what, ". It has to be long and random, because the hash is fast.")]
            #[must_use]
            pub fn $with(mut self, secret: &str, caller: Caller) -> Self {
                self.0.0.push((sha256(secret), caller));
                self
            }

            #[doc = concat!("Adds a ", $what, " by its SHA-256 in hexadecimal, as `sha256sum` writes it.")]
            ///
            /// # Errors
            ///
            /// [`ParseError`].
            pub fn with_digest(mut self, digest: &str, caller: Caller) -> Result<Self, ParseError> {
                self.0.0.push((parse_sha256(digest)?, caller));
                Ok(self)
            }
        }

        #[async_trait]
        impl SchemeVerifier for $type {
            fn supports(&self, scheme: &Scheme) -> bool {
                let supports: fn(&Scheme) -> bool = $supports;
                supports(scheme)
            }

            async fn verify(
                &self,
                credential: &RequestCredential,
                _: Attempt,
            ) -> Result<Caller, Rejection> {
                match credential {
                    RequestCredential::$credential(secret) => self.0.find(secret),
                    _ => Err(Rejection::Invalid($other)),
                }
            }
        }
    };
}

static_secrets!(ApiKeys, ApiKey, with_key, "key", "not an API key", |scheme| matches!(
    scheme,
    Scheme::ApiKeySecurityScheme(_)
));
static_secrets!(BearerTokens, Bearer, with_token, "token", "not a bearer token", uses_bearer_token);

/// Returns whether a scheme uses bearer tokens.
pub(super) fn uses_bearer_token(scheme: &Scheme) -> bool {
    match scheme {
        Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("bearer"),
        Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => true,
        Scheme::ApiKeySecurityScheme(_) | Scheme::MtlsSecurityScheme(_) => false,
    }
}

pub(super) type Digest = [u8; 32];

#[derive(Clone, Default)]
struct Secrets(Vec<(Digest, Caller)>);

impl Secrets {
    /// Compares with all secrets, in constant time.
    fn find(&self, secret: &str) -> Result<Caller, Rejection> {
        let digest = sha256(secret);
        let mut found = 0_u64;
        let mut is_found = Choice::from(0);
        for (index, (known, _)) in (0..).zip(&self.0) {
            let is_this = known.ct_eq(&digest);
            found.conditional_assign(&index, is_this);
            is_found |= is_this;
        }
        let caller = usize::try_from(found).ok().and_then(|found| self.0.get(found));
        match caller {
            Some((_, caller)) if is_found.into() => Ok(caller.clone()),
            _ => Err(Rejection::Invalid("unknown secret")),
        }
    }
}

a2a_core::debug_fields!(Secrets(..));

fn invalid_digest() -> ParseError {
    ParseError::new("not a SHA-256 digest of 64 hexadecimal digits")
}

/// Parses a SHA-256 digest in hexadecimal.
pub(super) fn parse_sha256(text: &str) -> Result<Digest, ParseError> {
    let mut digest = Digest::default();
    let text = text.as_bytes();
    if text.len() != 2 * digest.len() {
        return Err(invalid_digest());
    }
    for (byte, pair) in digest.iter_mut().zip(text.chunks(2)) {
        let digit = |letter: u8| char::from(letter).to_digit(16);
        let value = digit(pair[0]).zip(digit(pair[1])).map(|(high, low)| high << 4 | low);
        *byte = value.and_then(|value| u8::try_from(value).ok()).ok_or_else(invalid_digest)?;
    }
    Ok(digest)
}

fn sha256(secret: &str) -> Digest {
    let mut bytes = Digest::default();
    bytes.copy_from_slice(digest::digest(&digest::SHA256, secret.as_bytes()).as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keys_are_accepted_by_value_or_digest() {
        let sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let ann = Caller::authenticated("ann").with_scopes(["read"]);
        let keys = ApiKeys::new()
            .with_key("secret", ann.clone())
            .with_digest(sha256_of_abc, Caller::authenticated("bob"))
            .unwrap();
        let verify =
            async |keys: &ApiKeys, credential| keys.verify(&credential, Attempt::Stream).await;
        let find = async |key: &str| verify(&keys, RequestCredential::ApiKey(key.into())).await;
        assert_eq!(find("secret").await.unwrap(), ann);
        assert_eq!(find("abc").await.unwrap().subject(), Some("bob"));
        for wrong in ["", "Secret", "secret ", sha256_of_abc] {
            assert!(matches!(find(wrong).await, Err(Rejection::Invalid(_))), "{wrong:?}");
        }
        assert!(verify(&keys, RequestCredential::Bearer("secret".into())).await.is_err());
        let empty = RequestCredential::ApiKey(String::new());
        assert!(verify(&ApiKeys::new(), empty).await.is_err());
    }

    #[test]
    fn digest_must_have_64_hexadecimal_digits() {
        let almost = "x".repeat(64);
        for text in ["", "ab", &*almost, &"\u{e4}".repeat(32)] {
            let keys = BearerTokens::new().with_digest(text, Caller::ANONYMOUS);
            assert!(keys.is_err(), "{text}");
        }
    }
}
