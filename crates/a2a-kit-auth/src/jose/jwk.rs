use std::time::{Duration, SystemTime};

use a2a_core::ParseError;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
        RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaPublicKeyComponents,
        UnparsedPublicKey, VerificationAlgorithm,
    },
};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::Algorithm;

/// A public key as a JSON Web Key (RFC 7517).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Jwk {
    id: String,
    pub(super) material: Material,
    /// The only algorithm of the key. `None` for an RSA key without `alg`, which verifies all RSA
    /// algorithms.
    algorithm: Option<Algorithm>,
    /// Seconds since the Unix epoch.
    not_before: Option<u64>,
    /// Seconds since the Unix epoch.
    not_after: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Material {
    /// The uncompressed point: 4, x, y.
    P256([u8; 65]),
    /// The uncompressed point: 4, x, y.
    P384([u8; 97]),
    Ed25519([u8; 32]),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

/// The signature does not match the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidSignature;

impl Jwk {
    /// Creates a key for the default algorithm of its type.
    pub(super) fn new(material: Material) -> Self {
        let algorithm = Some(material.default_algorithm());
        Self::with_algorithm(material, algorithm)
    }

    fn with_algorithm(material: Material, algorithm: Option<Algorithm>) -> Self {
        let id = String::new();
        let mut key = Self { id, material, algorithm, not_before: None, not_after: None };
        key.id = key.thumbprint();
        key
    }

    /// The key id: its `kid`, or else its thumbprint.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sets the key id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets when the key expires, in whole seconds.
    #[must_use]
    pub fn with_not_after(mut self, end: SystemTime) -> Self {
        self.not_after = Some(seconds(end));
        self
    }

    /// Sets when the key becomes valid, in whole seconds.
    #[must_use]
    pub fn with_not_before(mut self, start: SystemTime) -> Self {
        self.not_before = Some(seconds(start));
        self
    }

    /// When the key becomes valid, if set (member `nbf`).
    pub fn not_before(&self) -> Option<SystemTime> {
        self.not_before.and_then(time)
    }

    /// When the key expires, if set (member `exp`).
    pub fn not_after(&self) -> Option<SystemTime> {
        self.not_after.and_then(time)
    }

    /// The algorithm of the key: its `alg`, or else the default of its type, which is RS256 for
    /// RSA.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm.unwrap_or_else(|| self.material.default_algorithm())
    }

    /// Returns whether the key verifies signatures of an algorithm. An RSA key without `alg`
    /// supports all RSA algorithms; every other key supports one.
    pub fn supports(&self, algorithm: Algorithm) -> bool {
        match self.algorithm {
            Some(named) => named == algorithm,
            None => self.material.fits(algorithm),
        }
    }

    /// Returns whether the key is valid at a time, with a clock skew of up to `leeway`.
    pub(crate) fn is_valid_at(&self, now: SystemTime, leeway: Duration) -> bool {
        // A time that can't be represented is never reached.
        let has_begun = self.not_before.is_none_or(|start| {
            time(start).zip(now.checked_add(leeway)).is_some_and(|(start, now)| start <= now)
        });
        let has_ended = self
            .not_after()
            .is_some_and(|end| end.checked_add(leeway).is_some_and(|end| end <= now));
        has_begun && !has_ended
    }

    /// Binds the key to the algorithm that private keys of its type sign with; `None` if it is for
    /// another.
    pub(super) fn for_signing(mut self) -> Option<Self> {
        let algorithm = self.material.default_algorithm();
        self.algorithm = Some(algorithm).filter(|algorithm| self.supports(*algorithm));
        self.algorithm.is_some().then_some(self)
    }

    /// The SHA-256 thumbprint (RFC 7638), in base64url.
    pub fn thumbprint(&self) -> String {
        let Wire { kty, crv, x, y, n, e, .. } = Wire::of(&self.material);
        // The required members in lexical order. Their values need no escaping.
        let members = [("crv", crv), ("e", e), ("kty", Some(kty)), ("n", n), ("x", x), ("y", y)];
        let members = members
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| format!(r#""{name}":"{value}""#)));
        let canonical = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, canonical.as_bytes()))
    }

    /// Verifies a signature, if the key supports the algorithm.
    pub(crate) fn verify(
        &self,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        if !self.supports(algorithm) {
            return Err(InvalidSignature);
        }
        let rsa = match algorithm {
            Algorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
            Algorithm::Rs384 => &RSA_PKCS1_2048_8192_SHA384,
            Algorithm::Rs512 => &RSA_PKCS1_2048_8192_SHA512,
            Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
            Algorithm::Ps384 => &RSA_PSS_2048_8192_SHA384,
            Algorithm::Ps512 => &RSA_PSS_2048_8192_SHA512,
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => {
                let (curve, key): (&dyn VerificationAlgorithm, &[u8]) = match &self.material {
                    Material::P256(point) => (&ECDSA_P256_SHA256_FIXED, point),
                    Material::P384(point) => (&ECDSA_P384_SHA384_FIXED, point),
                    Material::Ed25519(key) => (&ED25519, key),
                    Material::Rsa { .. } => return Err(InvalidSignature),
                };
                let verified = UnparsedPublicKey::new(curve, key).verify(message, signature);
                return verified.map_err(|ring::error::Unspecified| InvalidSignature);
            }
        };
        let Material::Rsa { n, e } = &self.material else { return Err(InvalidSignature) };
        let verified = RsaPublicKeyComponents { n, e }.verify(rsa, message, signature);
        verified.map_err(|ring::error::Unspecified| InvalidSignature)
    }
}

impl Material {
    fn default_algorithm(&self) -> Algorithm {
        match self {
            Self::P256(_) => Algorithm::Es256,
            Self::P384(_) => Algorithm::Es384,
            Self::Ed25519(_) => Algorithm::EdDsa,
            Self::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// Returns whether keys of this type support an algorithm.
    fn fits(&self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Es256 => matches!(self, Self::P256(_)),
            Algorithm::Es384 => matches!(self, Self::P384(_)),
            Algorithm::EdDsa => matches!(self, Self::Ed25519(_)),
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512 => matches!(self, Self::Rsa { .. }),
        }
    }
}

/// The JSON representation. Other members are ignored, including private ones.
#[derive(Clone, Default, Deserialize, Serialize)]
struct Wire {
    kty: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<String>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbf: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
    #[serde(skip_serializing)]
    revoked: Option<IgnoredAny>,
}

impl Wire {
    fn of(material: &Material) -> Self {
        match material {
            Material::P256(point) => Self::ec("P-256", &point[1..]),
            Material::P384(point) => Self::ec("P-384", &point[1..]),
            Material::Ed25519(key) => Self {
                kty: "OKP".into(),
                crv: Some("Ed25519".into()),
                x: encode(key),
                ..Self::default()
            },
            Material::Rsa { n, e } => {
                Self { kty: "RSA".into(), n: encode(n), e: encode(e), ..Self::default() }
            }
        }
    }

    /// A key of a curve, whose coordinates have the same length.
    fn ec(curve: &str, coordinates: &[u8]) -> Self {
        let (x, y) = coordinates.split_at(coordinates.len() / 2);
        Self {
            kty: "EC".into(),
            crv: Some(curve.into()),
            x: encode(x),
            y: encode(y),
            ..Self::default()
        }
    }

    fn material(&self) -> Result<Material, ParseError> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => Ok(Material::P256(self.point::<32, 65>()?)),
            ("EC", Some("P-384")) => Ok(Material::P384(self.point::<48, 97>()?)),
            ("OKP", Some("Ed25519")) => Ok(Material::Ed25519(fixed(self.x.as_deref())?)),
            ("RSA", _) => {
                Ok(Material::Rsa { n: number(self.n.as_deref())?, e: number(self.e.as_deref())? })
            }
            _ => Err(invalid("unsupported key type")),
        }
    }

    /// The uncompressed point of two coordinates of `N` bytes each.
    fn point<const N: usize, const LENGTH: usize>(&self) -> Result<[u8; LENGTH], ParseError> {
        let mut point = [4; LENGTH];
        point[1..=N].copy_from_slice(&fixed::<N>(self.x.as_deref())?);
        point[N + 1..].copy_from_slice(&fixed::<N>(self.y.as_deref())?);
        Ok(point)
    }
}

fn encode(bytes: &[u8]) -> Option<String> {
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

impl TryFrom<Wire> for Jwk {
    type Error = ParseError;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        let material = wire.material()?;
        let algorithm = match wire.alg.as_deref().map(str::parse) {
            // For RSA, the key type does not determine the algorithm.
            None => Some(material.default_algorithm()).filter(|it| *it != Algorithm::Rs256),
            Some(Ok(algorithm)) if material.fits(algorithm) => Some(algorithm),
            Some(_) => return Err(invalid("unsupported alg, or one of another key type")),
        };
        let mut key = Self::with_algorithm(material, algorithm);
        if wire.usage.is_some_and(|usage| usage != "sig") {
            return Err(invalid("use is not sig"));
        }
        if wire.revoked.is_some() {
            return Err(invalid("key is revoked"));
        }
        (key.not_before, key.not_after) = (wire.nbf, wire.exp);
        if let Some(id) = wire.kid {
            key.id = id;
        }
        Ok(key)
    }
}

impl From<Jwk> for Wire {
    fn from(key: Jwk) -> Self {
        let mut wire = Self::of(&key.material);
        wire.alg = key.algorithm.map(|algorithm| algorithm.as_str().to_owned());
        wire.usage = Some("sig".to_owned());
        wire.kid = Some(key.id);
        (wire.nbf, wire.exp) = (key.not_before, key.not_after);
        wire
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// `None` for a time that can't be represented, which is never reached.
fn time(seconds: u64) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn invalid(reason: &str) -> ParseError {
    ParseError::new(format!("invalid key: {reason}"))
}

fn decode(text: Option<&str>) -> Result<Vec<u8>, ParseError> {
    let text = text.ok_or_else(|| invalid("missing member"))?;
    let decoded = URL_SAFE_NO_PAD.decode(text);
    decoded.map_err(|_error| invalid("member is not base64url"))
}

fn fixed<const N: usize>(text: Option<&str>) -> Result<[u8; N], ParseError> {
    let decoded = decode(text)?.try_into();
    decoded.map_err(|_bytes| invalid("member has the wrong length"))
}

/// Decodes an unsigned integer without leading zeros, as ring requires.
fn number(text: Option<&str>) -> Result<Vec<u8>, ParseError> {
    let bytes = decode(text)?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    Ok(bytes[zeros..].to_vec())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn thumbprints_match_the_rfc_examples() {
        // RFC 7638 §3.1 and RFC 8037 appendix A.3.
        let rsa = json!({
            "kty": "RSA",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1\
                  L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4\
                  QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbO\
                  pbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csF\
                  Cur-kEgU8awapJzKnqDKgw",
            "e": "AQAB",
            "alg": "RS256",
            "kid": "2011-04-29",
        });
        let okp = json!({
            "kty": "OKP",
            "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        for (key, thumbprint, id) in [
            (rsa, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", "2011-04-29"),
            (
                okp,
                "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
                "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
            ),
        ] {
            let key: Jwk = serde_json::from_value(key).unwrap();
            assert_eq!((key.thumbprint().as_str(), key.id()), (thumbprint, id));
            let again = serde_json::to_value(&key).unwrap();
            assert_eq!(serde_json::from_value::<Jwk>(again).unwrap(), key);
        }
    }

    #[test]
    fn rsa_key_without_alg_supports_all_rsa_algorithms() {
        let n = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let rsa = Algorithm::ALL
            .into_iter()
            .filter(|it| !matches!(it.as_str(), "ES256" | "ES384" | "EdDSA"));
        let open: Jwk = serde_json::from_value(json!({"kty": "RSA", "n": n, "e": "AQAB"})).unwrap();
        for algorithm in rsa {
            let named = json!({"kty": "RSA", "n": n, "e": "AQAB", "alg": algorithm.as_str()});
            let named: Jwk = serde_json::from_value(named).unwrap();
            let supported = |key: &Jwk| {
                Algorithm::ALL.into_iter().filter(|it| key.supports(*it)).collect::<Vec<_>>()
            };
            assert_eq!(supported(&named), [algorithm]);
            assert_eq!(supported(&open).len(), 6, "{algorithm}");
            for key in [&named, &open] {
                let again = serde_json::to_value(key).unwrap();
                assert_eq!(&serde_json::from_value::<Jwk>(again).unwrap(), key);
            }
        }
    }

    #[test]
    fn validity_period_includes_the_leeway() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let leeway = Duration::from_secs(10);
        let valid = |key: serde_json::Value, seconds: u64| {
            let key: Jwk = serde_json::from_value(key).unwrap();
            key.is_valid_at(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds), leeway)
        };
        let key = json!({"kty": "OKP", "crv": "Ed25519", "x": x, "nbf": 1_000, "exp": 2_000});
        for (seconds, is_valid) in [(989, false), (990, true), (2_009, true), (2_010, false)] {
            assert_eq!(valid(key.clone(), seconds), is_valid, "{seconds}");
        }
        let never = json!({"kty": "OKP", "crv": "Ed25519", "x": x, "nbf": u64::MAX});
        let always = json!({"kty": "OKP", "crv": "Ed25519", "x": x, "exp": u64::MAX});
        assert!(!valid(never, 1_000) && valid(always, 1_000));
    }

    #[test]
    fn malformed_and_unsupported_keys_are_rejected() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        for key in [
            json!({"kty": "oct", "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ"}),
            json!({"kty": "EC", "crv": "P-384", "x": x, "y": x}),
            json!({"kty": "EC", "crv": "P-256", "x": x}),
            json!({"kty": "OKP", "crv": "X25519", "x": x}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": "AQAB"}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": format!("{x}=")}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": x, "use": "enc"}),
            json!({"kty": "OKP", "crv": "Ed25519", "x": x, "alg": "ES256"}),
            json!({"kty": "RSA", "n": x, "e": "AQAB", "alg": "ES256"}),
            json!({"kty": "RSA", "n": x, "e": "AQAB", "alg": "HS256"}),
            json!({"kty": "RSA", "n": x, "e": "AQAB", "alg": "RSA-OAEP"}),
            json!({"crv": "Ed25519", "x": x}),
        ] {
            assert!(serde_json::from_value::<Jwk>(key.clone()).is_err(), "{key}");
        }
    }
}
