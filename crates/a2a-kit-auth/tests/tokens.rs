//! Tokens created by other libraries, with the programs in `tests/tokens/`.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use a2a_kit_auth::{
    jose::JwkSet,
    server::{Attempt, JwtVerifier, Rejection, RequestCredential, SchemeVerifier as _},
};
use a2a_kit_operations::Caller;
use serde_json::{Value, json};

const WRITTEN: [&str; 2] = [include_str!("tokens/pyjwt.json"), include_str!("tokens/jose.json")];

fn written() -> Vec<Value> {
    WRITTEN.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

fn list<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    document[name].as_array().unwrap()
}

async fn verify(jwks: Value, token: &Value) -> Result<Caller, Rejection> {
    let keys: JwkSet = serde_json::from_value(jwks).unwrap();
    let jwt = JwtVerifier::new("https://issuer.example", "agent", keys);
    let credential = RequestCredential::Bearer(token["token"].as_str().unwrap().to_owned());
    jwt.verify(&credential, Attempt::Stream).await
}

#[tokio::test]
async fn tokens_of_other_libraries_are_accepted_with_and_without_a_key_id() {
    for document in written() {
        let tokens = list(&document, "accepted");
        assert_eq!(tokens.len(), 2 * 9, "{}", document["producer"]);
        for token in tokens {
            let caller = verify(document["jwks"].clone(), token).await;
            let caller = caller.unwrap_or_else(|error| panic!("{token}: {error}"));
            assert_eq!(caller.subject(), Some("https://issuer.example#ann"), "{token}");
            assert!(caller.has_scope("read"), "{token}");
        }
    }
}

#[tokio::test]
async fn unsigned_hmac_and_mismatched_tokens_are_rejected() {
    for document in written() {
        let tokens = list(&document, "rejected");
        for algorithm in ["none", "HS256", "HS384", "HS512", "ES512", "PS256"] {
            assert!(tokens.iter().any(|token| token["alg"] == algorithm), "{algorithm}");
        }
        for token in tokens {
            let refused = verify(document["jwks"].clone(), token).await;
            assert!(matches!(refused, Err(Rejection::Invalid(_))), "{token}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn an_rsa_key_verifies_only_the_algorithm_that_it_names() {
    for document in written() {
        for token in list(&document, "accepted") {
            let mut jwks = document["jwks"].clone();
            for key in jwks["keys"].as_array_mut().unwrap() {
                if key["kty"] == "RSA" {
                    key["alg"] = json!("PS256");
                }
            }
            let of_rsa = token["alg"].as_str().unwrap().starts_with(['R', 'P']);
            let is_accepted = !of_rsa || token["alg"] == "PS256";
            assert_eq!(verify(jwks, token).await.is_ok(), is_accepted, "{token}");
        }
    }
}

#[tokio::test]
async fn a_token_without_a_key_id_needs_exactly_one_key_for_its_algorithm() {
    let [one, two] = &written()[..] else { panic!("two documents") };
    let both: Vec<_> = list(&one["jwks"], "keys")
        .iter()
        .cloned()
        .chain(list(&two["jwks"], "keys").iter().cloned().map(|mut key| {
            key["kid"] = json!(format!("other {}", key["kid"]));
            key
        }))
        .collect();
    // An expired second key does not count.
    let mut expired = both.clone();
    for key in &mut expired[4..] {
        key["exp"] = json!(1_700_000_000);
    }
    let encryption: Vec<_> = both[..4]
        .iter()
        .map(|key| {
            let mut key = key.clone();
            key["use"] = json!("enc");
            key
        })
        .collect();
    for token in list(one, "accepted").iter().filter(|token| token["kid"].is_null()) {
        let ambiguous = verify(json!({ "keys": both }), token).await;
        assert!(matches!(ambiguous, Err(Rejection::Invalid(_))), "{token}");
        verify(json!({ "keys": expired }), token).await.unwrap();
        for none in [json!({"keys": []}), json!({ "keys": encryption })] {
            assert!(matches!(verify(none, token).await, Err(Rejection::Invalid(_))), "{token}");
        }
    }
}

#[tokio::test]
async fn an_expired_or_future_key_verifies_no_token() {
    for document in written() {
        for token in list(&document, "accepted") {
            for (member, seconds, is_accepted) in [
                ("exp", 1_700_000_000_u64, false),
                ("exp", 4_102_444_800, true),
                ("nbf", 4_102_444_800, false),
                ("nbf", 1_700_000_000, true),
            ] {
                let mut jwks = document["jwks"].clone();
                for key in jwks["keys"].as_array_mut().unwrap() {
                    key[member] = json!(seconds);
                }
                let accepted = verify(jwks, token).await.is_ok();
                assert_eq!(accepted, is_accepted, "{member} {seconds} {token}");
            }
        }
    }
}
