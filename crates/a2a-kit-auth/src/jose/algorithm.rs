use std::{fmt, str::FromStr};

use a2a_core::ParseError;

/// A signature algorithm. All can be verified; [`SigningKey`](super::SigningKey) signs with ES256,
/// `EdDSA` and RS256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
    /// RSA (PKCS #1 v1.5) with SHA-256 and at least 2048 bits.
    Rs256,
    /// RSA (PKCS #1 v1.5) with SHA-384 and at least 2048 bits.
    Rs384,
    /// RSA (PKCS #1 v1.5) with SHA-512 and at least 2048 bits.
    Rs512,
    /// RSA (PSS) with SHA-256 and at least 2048 bits.
    Ps256,
    /// RSA (PSS) with SHA-384 and at least 2048 bits.
    Ps384,
    /// RSA (PSS) with SHA-512 and at least 2048 bits.
    Ps512,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 9] = [
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
    ];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
        }
    }
}

impl FromStr for Algorithm {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Names are case-sensitive (RFC 7515 §4.1.1).
        let known = Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == text);
        known.ok_or_else(|| ParseError::new(format!("unsupported algorithm {text:?}")))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_and_unknown_algorithms_are_unsupported() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
        }
        for text in ["none", "None", "HS256", "HS512", "es256", "ES512", "ES256K", "RS1", ""] {
            assert!(text.parse::<Algorithm>().is_err(), "{text:?}");
        }
    }
}
