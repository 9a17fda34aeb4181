use std::{error::Error, fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};

use super::{Algorithm, Jwk, jwk::Material};

/// A private key for signing. Clones share the key.
#[derive(Clone)]
pub struct SigningKey(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) pair: Pair,
    pub(super) public: Jwk,
}

pub(super) enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

/// Why a private key can't be loaded or used.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text contains no PEM private key.
    #[error("no PEM private key found")]
    NoPem(#[source] Box<dyn Error + Send + Sync>),
    /// The text is not a private JSON Web Key.
    #[error("not a private JSON Web Key")]
    NoJwk(#[source] serde_json::Error),
    /// The key is unsupported or malformed.
    #[error(
        "unsupported private key: must be P-256, Ed25519 or RSA with 2048 to 4096 bits, as PKCS #8"
    )]
    Unusable,
    /// Keys for this algorithm can't be generated.
    #[error("generating {0} keys is not supported")]
    NotGenerated(Algorithm),
    /// The system's random number generator failed.
    #[error("no random bytes available")]
    NoRandom,
}

a2a_core::debug_as_chain!(KeyError);

impl SigningKey {
    /// Generates a key that can't be saved. For one that can, see
    /// [`generate_pem`](Self::generate_pem).
    ///
    /// # Errors
    ///
    /// [`NotGenerated`](KeyError::NotGenerated) for all but ES256 and `EdDSA`.
    pub fn generate(algorithm: Algorithm) -> Result<Self, KeyError> {
        Self::from_pem(&Self::generate_pem(algorithm)?)
    }

    /// Generates a key as PEM, for a private file.
    ///
    /// # Errors
    ///
    /// [`NotGenerated`](KeyError::NotGenerated) for all but ES256 and `EdDSA`.
    pub fn generate_pem(algorithm: Algorithm) -> Result<String, KeyError> {
        let random = SystemRandom::new();
        let document = match algorithm {
            Algorithm::Es256 => {
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            }
            Algorithm::EdDsa => Ed25519KeyPair::generate_pkcs8(&random),
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512
            | Algorithm::Es384 => return Err(KeyError::NotGenerated(algorithm)),
        };
        let document = document.map_err(|ring::error::Unspecified| KeyError::NoRandom)?;
        let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
        for line in document.as_ref().chunks(48) {
            pem.push_str(&STANDARD.encode(line));
            pem.push('\n');
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        Ok(pem)
    }

    /// Parses the first private key of a PEM file. The type of the key determines the algorithm.
    ///
    /// # Errors
    ///
    /// [`NoPem`](KeyError::NoPem) and [`Unusable`](KeyError::Unusable).
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| KeyError::NoPem(error.into()))?;
        let pair = match &key {
            PrivateKeyDer::Pkcs8(key) => Pair::from_pkcs8(key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => {
                RsaKeyPair::from_der(key.secret_pkcs1_der()).ok().map(Pair::Rs256)
            }
            _ => None,
        };
        let pair = pair.ok_or(KeyError::Unusable)?;
        let public = Jwk::new(pair.public().ok_or(KeyError::Unusable)?);
        Ok(Self(Arc::new(Inner { pair, public })))
    }

    /// The public key. Its id is the thumbprint unless the key was loaded with one.
    pub fn public(&self) -> &Jwk {
        &self.0.public
    }

    /// The signature algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.0.public.algorithm()
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = &SystemRandom::new();
        let signed = match &self.0.pair {
            Pair::Es256(pair) => {
                pair.sign(random, message).map(|signature| signature.as_ref().to_vec())
            }
            Pair::EdDsa(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).map(|()| signature)
            }
        };
        signed.map_err(|ring::error::Unspecified| KeyError::NoRandom)
    }
}

impl Pair {
    fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let random = &SystemRandom::new();
        // The key types are mutually exclusive by object identifier. Keys generated by OpenSSL lack
        // the public key, hence "maybe unchecked".
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(Self::EdDsa);
        let p256 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, random).ok();
        let rsa = || RsaKeyPair::from_pkcs8(der).ok().map(Self::Rs256);
        ed25519().or_else(|| p256().map(Self::Es256)).or_else(rsa)
    }

    pub(super) fn public(&self) -> Option<Material> {
        Some(match self {
            Self::Es256(pair) => Material::P256(pair.public_key().as_ref().try_into().ok()?),
            Self::EdDsa(pair) => Material::Ed25519(pair.public_key().as_ref().try_into().ok()?),
            Self::Rs256(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::from(pair.public());
                Material::Rsa { n, e }
            }
        })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.0.public.id()).finish()
    }
}
