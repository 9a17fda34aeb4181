//! The protected header of a signature (RFC 7515 §4).

use a2a_core::ParseError;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::SignatureError;
use crate::jose::Algorithm;

/// The verified fields of a protected header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) algorithm: Result<Algorithm, ParseError>,
    pub(super) key_id: String,
    pub(super) url: Option<String>,
}

/// Maximum length of a header, in characters.
const MAX_LENGTH: usize = 8 << 10;
/// Maximum length of a key id, in bytes.
const MAX_KEY_ID: usize = 512;

#[derive(Deserialize)]
struct Wire {
    alg: String,
    kid: Option<String>,
    jku: Option<String>,
}

impl Header {
    /// Parses the `protected` header of a signature. `unprotected` is its `header`, which is only
    /// checked for conflicts.
    pub(super) fn read(
        protected: &str,
        unprotected: Option<&Map<String, Value>>,
    ) -> Result<Self, SignatureError> {
        if protected.len() > MAX_LENGTH {
            return Err(SignatureError::Malformed("header too long"));
        }
        let decoded = URL_SAFE_NO_PAD
            .decode(protected)
            .map_err(|_error| SignatureError::Malformed("header is not base64url"))?;
        let names: Map<String, Value> = serde_json::from_slice(&decoded)
            .map_err(|_error| SignatureError::Malformed("header is not a JSON object"))?;
        // Duplicate names are rejected by the derived parser.
        let header: Wire = serde_json::from_slice(&decoded).map_err(|_error| {
            SignatureError::Malformed("header has no alg, or a field of the wrong type")
        })?;
        if let Some(unprotected) = unprotected {
            // RFC 7515 §4.1.11 and §7.2.1.
            if unprotected.contains_key("crit") {
                return Err(SignatureError::Malformed(
                    "critical extensions in the unprotected header",
                ));
            }
            if unprotected.keys().any(|name| names.contains_key(name)) {
                return Err(SignatureError::Malformed("duplicate name in the two headers"));
            }
        }
        // No critical extensions are supported.
        if names.contains_key("crit") || names.contains_key("b64") {
            return Err(SignatureError::Malformed("unsupported critical extensions"));
        }
        let key_id = header.kid.filter(|id| !id.is_empty() && id.len() <= MAX_KEY_ID);
        let key_id = key_id.ok_or(SignatureError::Malformed("header has no valid kid"))?;
        Ok(Self { algorithm: header.alg.parse(), key_id, url: header.jku })
    }

    /// Serializes a `protected` header.
    pub(super) fn write(algorithm: Algorithm, key_id: &str, url: Option<&str>) -> String {
        let members = [
            ("alg", Some(algorithm.as_str())),
            ("jku", url),
            ("kid", Some(key_id)),
            ("typ", Some("JOSE")),
        ];
        let members = members.into_iter().filter_map(|(name, text)| Some((name, text?)));
        URL_SAFE_NO_PAD.encode(members.collect::<Value>().to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(header: &str) -> Result<Header, SignatureError> {
        Header::read(&URL_SAFE_NO_PAD.encode(header), None)
    }

    // covers: R-369, R-370, R-371
    #[test]
    fn header_has_algorithm_key_id_type_and_optional_jku() {
        let text = |protected: &str| -> Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(protected).unwrap()).unwrap()
        };
        let written = Header::write(Algorithm::Es256, "k", None);
        assert_eq!(text(&written), json!({"alg": "ES256", "kid": "k", "typ": "JOSE"}));
        let url = "https://a.example/keys";
        let written = Header::write(Algorithm::EdDsa, "k", Some(url));
        assert_eq!(text(&written), json!({"alg": "EdDSA", "kid": "k", "typ": "JOSE", "jku": url}));
        let header = Header::read(&written, None).unwrap();
        assert_eq!((header.key_id.as_str(), header.url.as_deref()), ("k", Some(url)));
        assert_eq!(header.algorithm, Ok(Algorithm::EdDsa));
    }

    // covers: R-369
    #[test]
    fn malformed_headers_are_rejected() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"kid": "k"}"#,
            r#"{"alg": "ES256"}"#,
            r#"{"alg": "ES256", "kid": ""}"#,
            r#"{"alg": "ES256", "kid": 1}"#,
            r#"{"alg": "ES256", "kid": "k", "crit": ["exp"], "exp": 1}"#,
            r#"{"alg": "ES256", "kid": "k", "crit": null}"#,
            r#"{"alg": "ES256", "kid": "k", "b64": false}"#,
            r#"{"alg": "none", "alg": "ES256", "kid": "k"}"#,
            &format!(r#"{{"alg": "ES256", "kid": "{}"}}"#, "k".repeat(600)),
            &format!(r#"{{"alg": "ES256", "kid": "k", "x": "{}"}}"#, "x".repeat(10_000)),
        ] {
            assert!(read(text).is_err(), "{text:.60}");
        }
        assert!(Header::read("e30=", None).is_err());
        let unsupported = read(r#"{"alg": "HS256", "kid": "k"}"#).unwrap();
        assert_eq!(unsupported.algorithm, Err(ParseError::new("unsupported algorithm \"HS256\"")));
    }

    // covers: R-371
    #[test]
    fn unprotected_header_must_not_repeat_protected_names() {
        let protected = Header::write(Algorithm::Es256, "k", None);
        for (header, is_fine) in [
            (json!({"note": "x"}), true),
            (json!({}), true),
            (json!({"kid": "other"}), false),
            (json!({"crit": ["x"]}), false),
        ] {
            let read = Header::read(&protected, header.as_object());
            assert_eq!(read.is_ok(), is_fine, "{header}");
        }
    }
}
