//! Private JSON Web Keys (RFC 7517, 7518 §6, 8037 §2).

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa::{KeyPairComponents, PublicKeyComponents},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RsaKeyPair},
};
use serde::Deserialize;

use super::{
    Jwk, KeyError, SigningKey,
    jwk::Material,
    signing_key::{Inner, Pair},
};

/// The private members.
#[derive(Deserialize)]
struct Private {
    d: String,
    p: Option<String>,
    q: Option<String>,
    dp: Option<String>,
    dq: Option<String>,
    qi: Option<String>,
}

impl SigningKey {
    /// Parses a private JSON Web Key. It keeps its id.
    ///
    /// # Errors
    ///
    /// [`NoJwk`](KeyError::NoJwk) and [`Unusable`](KeyError::Unusable).
    pub fn from_jwk(json: &str) -> Result<Self, KeyError> {
        let public: Jwk = serde_json::from_str(json).map_err(KeyError::NoJwk)?;
        let public = public.for_signing().ok_or(KeyError::Unusable)?;
        let private: Private = serde_json::from_str(json).map_err(KeyError::NoJwk)?;
        let pair = pair(&public.material, &private).ok_or(KeyError::Unusable)?;
        // A mismatched public key would be published.
        if pair.public().as_ref() != Some(&public.material) {
            return Err(KeyError::Unusable);
        }
        Ok(Self(Arc::new(Inner { pair, public })))
    }
}

fn pair(material: &Material, private: &Private) -> Option<Pair> {
    let decode = |text: &String| URL_SAFE_NO_PAD.decode(text).ok();
    let d = decode(&private.d)?;
    match material {
        Material::P256(point) => EcdsaKeyPair::from_private_key_and_public_key(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &d,
            point,
            &SystemRandom::new(),
        )
        .ok()
        .map(Pair::Es256),
        Material::P384(_) => None,
        Material::Ed25519(key) => {
            Ed25519KeyPair::from_seed_and_public_key(&d, key).ok().map(Pair::EdDsa)
        }
        Material::Rsa { n, e } => {
            // ring requires all components, which current software always includes.
            let member = |text: &Option<String>| text.as_ref().and_then(decode);
            let components = KeyPairComponents {
                public_key: PublicKeyComponents { n: n.clone(), e: e.clone() },
                d,
                p: member(&private.p)?,
                q: member(&private.q)?,
                dP: member(&private.dp)?,
                dQ: member(&private.dq)?,
                qInv: member(&private.qi)?,
            };
            RsaKeyPair::from_components(&components).ok().map(Pair::Rs256)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn private_keys_of_the_rfcs_equal_their_pem() {
        // RFC 7515 appendix A.3, RFC 8037 appendix A.1.
        let p256 = json!({
            "kty": "EC", "crv": "P-256", "kid": "one",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
        });
        let ed25519 = json!({
            "kty": "OKP", "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        });
        for (jwk, pem, id) in [
            (&p256, include_str!("rfc7515_a3.pem"), "one"),
            (
                &ed25519,
                include_str!("rfc8037_a1.pem"),
                "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
            ),
        ] {
            let (key, same) = (
                SigningKey::from_jwk(&jwk.to_string()).unwrap(),
                SigningKey::from_pem(pem).unwrap(),
            );
            assert_eq!(key.public().id(), id);
            assert_eq!(key.public().thumbprint(), same.public().thumbprint());
            let signature = key.sign(b"x").unwrap();
            assert!(same.public().verify(same.algorithm(), b"x", &signature).is_ok());
        }
        for (member, value) in
            [("d", json!(null)), ("d", json!("AA")), ("d", p256["d"].clone()), ("x", json!("AA"))]
        {
            let mut broken = ed25519.clone();
            broken[member] = value;
            assert!(SigningKey::from_jwk(&broken.to_string()).is_err(), "{broken}");
        }
        assert!(matches!(SigningKey::from_jwk("{}"), Err(KeyError::NoJwk(_))));
    }
}
