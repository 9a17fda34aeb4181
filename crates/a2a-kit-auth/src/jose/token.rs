use a2a_core::ParseError;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Algorithm, Jwk, KeyError, SigningKey, jwk::InvalidSignature};

/// A parsed token (RFC 7515 §7.1), not yet verified.
#[derive(Debug)]
pub struct SignedToken<'a> {
    header: TokenHeader,
    payload: Vec<u8>,
    signed: &'a str,
    signature: Vec<u8>,
}

/// The header of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHeader {
    /// The signature algorithm.
    pub algorithm: Algorithm,
    /// The key id.
    pub key_id: Option<String>,
    /// The type (`typ`), such as `JWT` or `at+jwt`.
    pub token_type: Option<String>,
}

/// Why a token was rejected.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is malformed.
    #[error("malformed token: {0}")]
    Malformed(&'static str),
    /// The algorithm is unknown or insecure.
    #[error(transparent)]
    Algorithm(#[from] ParseError),
    /// The signature does not match the key.
    #[error("invalid signature")]
    Signature,
}

a2a_core::debug_as_chain!(TokenError);

/// Maximum length of a token, in bytes.
const MAX_LENGTH: usize = 16 << 10;

#[derive(Deserialize)]
struct Wire {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl<'a> SignedToken<'a> {
    /// Parses a token.
    ///
    /// # Errors
    ///
    /// [`Malformed`](TokenError::Malformed) and [`Algorithm`](TokenError::Algorithm).
    pub fn parse(text: &'a str) -> Result<Self, TokenError> {
        if text.len() > MAX_LENGTH {
            return Err(TokenError::Malformed("too long"));
        }
        let three = TokenError::Malformed("expected three parts");
        let Some((signed, signature)) = text.rsplit_once('.') else { return Err(three) };
        let Some((header, payload)) = signed.split_once('.') else { return Err(three) };
        let decode = |part: &str| {
            let decoded = URL_SAFE_NO_PAD.decode(part);
            decoded.map_err(|_error| TokenError::Malformed("part is not base64url"))
        };
        let header = decode(header)?;
        let header: Wire = serde_json::from_slice(&header)
            .map_err(|_error| TokenError::Malformed("malformed header"))?;
        // No critical extensions are supported (RFC 7515 §4.1.11).
        if header.crit.is_some() {
            return Err(TokenError::Malformed("unsupported critical extensions"));
        }
        let header = TokenHeader {
            algorithm: header.alg.parse()?,
            key_id: header.kid,
            token_type: header.typ,
        };
        Ok(Self { header, payload: decode(payload)?, signed, signature: decode(signature)? })
    }

    /// The header, which is untrusted until the token is verified.
    pub fn header(&self) -> &TokenHeader {
        &self.header
    }

    /// The payload, which is untrusted.
    pub(crate) fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// Verifies the signature with a key, and returns the payload.
    ///
    /// # Errors
    ///
    /// [`Signature`](TokenError::Signature), also for a key of another algorithm.
    pub fn verify(&self, key: &Jwk) -> Result<&[u8], TokenError> {
        let verified = key.verify(self.header.algorithm, self.signed.as_bytes(), &self.signature);
        verified.map(|()| &*self.payload).map_err(|InvalidSignature| TokenError::Signature)
    }
}

impl SigningKey {
    /// Creates a signed token.
    ///
    /// # Errors
    ///
    /// [`NoRandom`](KeyError::NoRandom).
    pub fn token(&self, payload: &[u8]) -> Result<String, KeyError> {
        let (alg, kid) = (self.algorithm().as_str(), self.public().id());
        let header = json!({ "alg": alg, "kid": kid, "typ": "JWT" });
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(payload, &mut token);
        let signature = self.sign(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 8037 appendix A.4; the key is that of A.2.
    const ED25519: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0Jz\
                           lnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    // RFC 7515 appendix A.3.
    const ES256: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
                         Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmX\
                         FCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    // RFC 7515 appendix A.2.
    const RS256: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
                         Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2V\
                         tQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBY\
                         NX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN938\
                         3LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6L\
                         bgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

    fn keys() -> [(&'static str, Jwk); 3] {
        let ed25519 = json!({
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        let p256 = json!({
            "kty": "EC",
            "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        });
        let rsa = json!({
            "kty": "RSA",
            "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPM\
                  EzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-\
                  bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3\
                  qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9g\
                  b54h4FRWyuXpoQ",
            "e": "AQAB",
        });
        [(ED25519, ed25519), (ES256, p256), (RS256, rsa)]
            .map(|(token, key)| (token, serde_json::from_value(key).unwrap()))
    }

    #[test]
    fn tokens_of_the_rfcs_are_verified() {
        for (text, key) in keys() {
            let token = SignedToken::parse(text).unwrap();
            assert!(!token.verify(&key).unwrap().is_empty(), "{text}");
            for (_, other) in keys() {
                assert_eq!(token.verify(&other).is_ok(), other == key, "{text}");
            }
        }
    }

    #[test]
    fn rs256_signature_matches_the_rfc_example() {
        let key = SigningKey::from_pem(include_str!("rfc7515_a2.pem")).unwrap();
        let [_, _, (_, public)] = keys();
        assert_eq!(key.public().thumbprint(), public.thumbprint());
        let (signed, signature) = RS256.rsplit_once('.').unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()).unwrap()), signature);
    }

    #[test]
    fn signed_tokens_verify_only_with_their_key_and_payload() {
        for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
            let key = SigningKey::generate(algorithm).unwrap();
            let text = key.token(b"payload").unwrap();
            let token = SignedToken::parse(&text).unwrap();
            assert_eq!(token.header().key_id.as_deref(), Some(key.public().id()));
            assert_eq!(token.verify(key.public()).unwrap(), b"payload");
            let other = SigningKey::generate(algorithm).unwrap();
            assert!(token.verify(other.public()).is_err(), "{algorithm}");
            let (signed, signature) = text.rsplit_once('.').unwrap();
            let (header, _) = signed.split_once('.').unwrap();
            let forged = format!("{header}.{}.{signature}", URL_SAFE_NO_PAD.encode("pay-load"));
            assert!(
                SignedToken::parse(&forged).unwrap().verify(key.public()).is_err(),
                "{algorithm}"
            );
        }
    }

    #[test]
    fn malformed_and_unsupported_tokens_are_rejected() {
        let with = |header: Value| {
            let header = URL_SAFE_NO_PAD.encode(header.to_string());
            SignedToken::parse(&format!("{header}.e30.AAAA")).map(|_| ())
        };
        assert!(with(json!({"alg": "EdDSA"})).is_ok());
        for alg in ["none", "NONE", "HS256"] {
            assert!(matches!(with(json!({"alg": alg})), Err(TokenError::Algorithm(_))), "{alg}");
        }
        for header in [json!({}), json!({"alg": 1}), json!({"alg": "EdDSA", "crit": ["b64"]})] {
            assert!(matches!(with(header.clone()), Err(TokenError::Malformed(_))), "{header}");
        }
        for text in ["", "a", "a.b", "a.b.c.d", "e30.e30.", "..", &"a".repeat(20_000)] {
            assert!(
                matches!(SignedToken::parse(text), Err(TokenError::Malformed(_))),
                "{text:.20}"
            );
        }
    }

    #[test]
    fn key_from_pem_is_the_same_key() {
        let pem = SigningKey::generate_pem(Algorithm::Es256).unwrap();
        let (one, two) = (SigningKey::from_pem(&pem).unwrap(), SigningKey::from_pem(&pem).unwrap());
        assert_eq!(one.public(), two.public());
        let text = one.token(b"x").unwrap();
        assert!(SignedToken::parse(&text).unwrap().verify(two.public()).is_ok());
        assert!(!format!("{one:?}").contains("PRIVATE"));
        assert!(matches!(SigningKey::from_pem("nothing"), Err(KeyError::NoPem(_))));
        let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(matches!(SigningKey::from_pem(broken), Err(KeyError::Unusable)));
        let generated = SigningKey::generate(Algorithm::Rs256);
        assert!(matches!(generated, Err(KeyError::NotGenerated(_))));
    }
}
