//! The cost of defaults: `a2a serve` with one of them relative to `a2a serve` without any, measured
//! alternately. The cost of authentication is beyond what the floor needs to read and hash the same
//! header.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::json;

use crate::{
    Result,
    load::{Length, Load},
    report::Results,
    request::{Ask, Binding},
    server::{A2A, Program},
};

/// Number of measurements of all servers; the lowest CPU time of each counts.
const PASSES: usize = 3;
const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "a2a";

/// Measures all defaults.
pub(crate) fn measure(
    binary: &Path,
    folder: &Path,
    round: usize,
    results: &mut Results,
) -> Result<()> {
    let (settings, token) = authentication(folder)?;
    let bench = ["--profile", "bench"];
    let echo = ["--echo", "--store", "memory"];
    let bare = ["--no-metrics", "--protocol", "1.0"];
    let program = |name: &str, groups: &[&[&str]]| {
        let arguments: Vec<_> = groups.iter().copied().flatten().map(OsString::from).collect();
        Program::a2a(name, binary, &arguments)
    };
    let with_jwt = program("JWT", &[&bench, &bare, &["--settings", &settings]]);
    let authorization = format!("Bearer {token}");
    let programs = [
        program("none", &[&bench, &bare]),
        with_jwt.authorized(authorization.clone()),
        program("metrics", &[&bench, &["--protocol", "1.0", "--metrics-listen", "127.0.0.1:0"]]),
        program("revisions", &[&bench, &["--no-metrics"]]),
        program("no log", &[&echo, &bare, &["--quiet"]]),
        program("log", &[&echo, &bare]),
        Program::floor(),
        Program::floor().authorized(authorization),
    ];
    let servers: Vec<_> = programs.into_iter().map(|mut program| program.start()).collect();
    let mut least = vec![f64::INFINITY; servers.len()];
    for _ in 0..PASSES {
        for (server, least) in servers.iter().zip(&mut least) {
            let asks = [Ask::Complete("hello")];
            let (binding, length) = (Binding::JsonRpc, Length::USUAL);
            let load = Load { server, binding, asks: &asks, in_flight: 64, rate: None, length };
            *least = least.min(load.run()?.cpu_each());
        }
    }
    let cost = |with: usize, without: usize| (least[with] / least[without] - 1.0) * 100.0;
    let to_hash = (least[7] - least[6]) / least[0] * 100.0;
    results.figure("cost.jwt", A2A, round, cost(1, 0) - to_hash);
    results.figure("cost.metrics", A2A, round, cost(2, 0));
    results.figure("cost.revisions", A2A, round, cost(3, 0));
    results.figure("cost.log", A2A, round, cost(5, 4));
    Ok(())
}

/// Writes settings with a token issuer, and returns their path and a token.
fn authentication(folder: &Path) -> Result<(String, String)> {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("ring makes keys");
    let key =
        EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).expect("ring makes keys");
    // The public key is a byte that says "uncompressed", and both coordinates.
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let jwks = json!({ "keys": [{
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "1",
        "x": encode(x), "y": encode(y),
    }]});
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
    let claims = json!({
        "iss": ISSUER, "sub": "ann", "aud": AUDIENCE,
        "iat": now.as_secs(), "exp": now.as_secs() + 3_600,
    });
    let header = json!({ "alg": "ES256", "typ": "JWT", "kid": "1" });
    let signed = [header, claims].map(|part| encode(part.to_string().as_bytes())).join(".");
    let signature = key.sign(&random, signed.as_bytes()).expect("ring signs");
    let token = format!("{signed}.{}", encode(signature.as_ref()));
    let jwks_file = folder.join("jwks.json");
    fs::write(&jwks_file, jwks.to_string()).map_err(|error| error.to_string())?;
    let settings = folder.join("settings.toml");
    let text = format!(
        "[[auth.jwt]]\nissuer = \"{ISSUER}\"\naudiences = [\"{AUDIENCE}\"]\njwks_file = {:?}\n",
        jwks_file.display().to_string()
    );
    fs::write(&settings, text).map_err(|error| error.to_string())?;
    Ok((settings.display().to_string(), token))
}
