//! Signs cards for other SDKs, and verifies cards signed by them.
//!
//! `interop-cards make FOLDER ES256|EdDSA|RS256` writes, for each case, `CASE.json` without a
//! signature and `CASE.signed.json` with ours, the key as `key.pem` and `jwks.json`, and another
//! one as `other.pem`. An SDK signs each `CASE.json` as `CASE.theirs.json`.
//!
//! `interop-cards verify FOLDER ALG` verifies those, and prints one line of JSON for each:
//! `{"operation": …, "ok": true|false, "detail": …}`.

mod case;

use std::{env, fs, io::Write as _, path::Path};

use a2a_kit_auth::{
    card::{CanonicalForm, CardVerification, JwsCardSigner, JwsCardVerifier, TrustStore},
    jose::{Algorithm, SigningKey},
};
use serde_json::{Value, json};

use self::case::{Case, cases};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// The id of the key, and of an untrusted one.
const KEY: &str = "interop-2026";
const OTHER: &str = "interop-gone";

fn main() -> Result {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [verb, folder, algorithm] = arguments.as_slice() else {
        return Err("interop-cards make|verify FOLDER ES256|EdDSA|RS256".into());
    };
    let (folder, algorithm) = (Path::new(folder), algorithm.parse()?);
    match verb.as_str() {
        "make" => make(folder, algorithm),
        "verify" => verify(folder, algorithm),
        other => Err(format!("{other:?} is neither make nor verify").into()),
    }
}

/// Keys of RFC 7515 and RFC 8037, in the form of OpenSSL.
fn pem(algorithm: Algorithm) -> Result<&'static str> {
    Ok(match algorithm {
        Algorithm::Es256 => include_str!("../../../../crates/a2a-kit-auth/src/jose/rfc7515_a3.pem"),
        Algorithm::EdDsa => include_str!("../../../../crates/a2a-kit-auth/src/jose/rfc8037_a1.pem"),
        Algorithm::Rs256 => include_str!("../../../../crates/a2a-kit-auth/src/jose/rfc7515_a2.pem"),
        other => return Err(format!("no key for {other}").into()),
    })
}

fn signer(algorithm: Algorithm) -> Result<JwsCardSigner> {
    Ok(JwsCardSigner::new(SigningKey::from_pem(pem(algorithm)?)?).with_key_id(KEY))
}

fn make(folder: &Path, algorithm: Algorithm) -> Result {
    fs::create_dir_all(folder)?;
    let write = |name: String, text: String| fs::write(folder.join(name), text);
    write("key.pem".into(), pem(algorithm)?.to_owned())?;
    write("jwks.json".into(), String::from_utf8(signer(algorithm)?.jwks().json().to_vec())?)?;
    let other = SigningKey::generate_pem(Algorithm::Es256)?;
    write("other.pem".into(), other.clone())?;
    for case in cases() {
        write(format!("{}.json", case.name), format!("{:#}", case.document()))?;
        let other = JwsCardSigner::new(SigningKey::from_pem(&other)?).with_key_id(OTHER);
        let signed = sign(&case, &signer(algorithm)?, &other)?;
        write(format!("{}.signed.json", case.name), format!("{signed:#}"))?;
    }
    Ok(())
}

/// Signs a case like a server, and adds the members of older revisions afterwards.
fn sign(case: &Case, signer: &JwsCardSigner, other: &JwsCardSigner) -> Result<Value> {
    let mut signer = signer.clone();
    if case.name == "card-header" {
        let header = [("note", "not to be believed")];
        signer = signer.with_url("https://keys.example/jwks.json").with_header(header.into());
    }
    if case.is_without_empty {
        signer = signer.with_form(CanonicalForm::WithoutEmpty);
    }
    let mut card = case.card.to_string().into_bytes();
    if case.name == "card-rotation" {
        card = other.sign_json(&card)?.to_string().into_bytes();
    }
    let mut signed = signer.sign_json(&card)?;
    case.finish(&mut signed);
    Ok(signed)
}

fn verify(folder: &Path, algorithm: Algorithm) -> Result {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for case in cases() {
        let verified = fs::read(folder.join(format!("{}.theirs.json", case.name)))
            .map_err(Into::into)
            .and_then(|signed| runtime.block_on(check(&case, &signed, algorithm)));
        let detail = verified.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let line = json!({"operation": case.name, "ok": verified.is_ok(), "detail": detail});
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}

async fn check(case: &Case, signed: &[u8], algorithm: Algorithm) -> Result {
    let keys = signer(algorithm)?.jwks();
    let verifier = JwsCardVerifier::new(TrustStore::new().with_keys(&keys));
    let verifier =
        if case.is_without_empty { verifier.with_form_without_empty() } else { verifier };
    let verified = match verifier.verify(signed).await {
        CardVerification::Verified(verified) => verified,
        other => return Err(other.to_string().into()),
    };
    if verified.key_id != KEY || verified.algorithm != algorithm {
        return Err(format!("verified by {} with {algorithm}", verified.key_id).into());
    }
    // Modified cards have to be rejected.
    for (change, tampered) in tampered(signed)? {
        if let CardVerification::Verified(_) = verifier.verify(&tampered).await {
            return Err(format!("verified though {change}").into());
        }
    }
    let stranger = SigningKey::generate(Algorithm::Es256)?.public().clone().with_id(KEY);
    match JwsCardVerifier::new(TrustStore::new().with_key(stranger)).verify(signed).await {
        CardVerification::Unverifiable(_) => Ok(()),
        other => Err(format!("another key of that name, and {other}").into()),
    }
}

/// The card with a modification after signing.
fn tampered(signed: &[u8]) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let signed: Value = serde_json::from_slice(signed)?;
    let change = |what, at: &str, value: Value| {
        let mut card = signed.clone();
        if let Some(member) = card.pointer_mut(at) {
            *member = value;
        }
        (what, card.to_string().into_bytes())
    };
    Ok(vec![
        change("the name is another", "/name", json!("B")),
        change(
            "the interface is another",
            "/supportedInterfaces/0/url",
            json!("https://evil.example"),
        ),
        change("a member is gone", "/capabilities", json!({})),
    ])
}
