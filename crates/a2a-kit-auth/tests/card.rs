//! Signing and verification of cards: RFC test keys, key rotation, expired, revoked and published
//! keys, and modified cards.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::time::{Duration, SystemTime};

use a2a_core::{
    AgentCard,
    v1::{AgentExtension, AgentInterface, AgentSkill, SecurityRequirement, StringList},
    well_known::Struct,
};
use a2a_kit_auth::{
    SetupError,
    card::{
        CanonicalForm, CardVerification, JwsCardSigner, JwsCardVerifier, SignatureError,
        TrustStore, VerifiedSignature,
    },
    jose::{Algorithm, JwkSet, RemoteKeys, SigningKey},
};
use a2a_kit_operations::{CardSignature, CardSigner, CardVerifier};
use axum::{Router, routing::get};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

// RFC 7515 appendices A.3 and A.2, RFC 8037 appendix A.1.
const ES256: &str = include_str!("../src/jose/rfc7515_a3.pem");
const RS256: &str = include_str!("../src/jose/rfc7515_a2.pem");
const EDDSA: &str = include_str!("../src/jose/rfc8037_a1.pem");

fn keys() -> [SigningKey; 3] {
    [ES256, EDDSA, RS256].map(|pem| SigningKey::from_pem(pem).unwrap())
}

fn key() -> SigningKey {
    SigningKey::from_pem(EDDSA).unwrap()
}

fn other_key() -> SigningKey {
    SigningKey::from_pem(ES256).unwrap()
}

fn card() -> AgentCard {
    let requirement = |scopes: &[&str]| SecurityRequirement {
        schemes: [(
            "key".to_owned(),
            StringList { list: scopes.iter().map(|&scope| scope.to_owned()).collect() },
        )]
        .into(),
    };
    let mut card = AgentCard::new("Zürich 🦀", "")
        .with_interface("JSONRPC", "https://a.example/rpc")
        .with_push_notifications(false)
        .with_extension(AgentExtension {
            params: Some(Struct::from([("empty", ""), ("text", "€")])),
            ..AgentExtension::new("urn:example:one", "")
        })
        .with_skill(AgentSkill::new("s", "S", ""));
    card.security_requirements = vec![requirement(&[]), requirement(&["read"])];
    card
}

fn json(card: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(card).unwrap()
}

fn trusting(keys: &[&SigningKey]) -> TrustStore {
    keys.iter().fold(TrustStore::new(), |store, key| store.with_key(key.public().clone()))
}

async fn verify(trust: TrustStore, card: &impl serde::Serialize) -> CardVerification {
    JwsCardVerifier::new(trust).verify(&json(card)).await
}

async fn verified(trust: TrustStore, card: &impl serde::Serialize) -> VerifiedSignature {
    match verify(trust, card).await {
        CardVerification::Verified(verified) => verified,
        other => panic!("{other}"),
    }
}

/// Why each signature was rejected.
async fn reasons(trust: TrustStore, card: &impl serde::Serialize) -> Vec<SignatureError> {
    match verify(trust, card).await {
        CardVerification::Unverifiable(rejected) => {
            rejected.into_iter().map(|rejected| rejected.reason).collect()
        }
        other => panic!("{other}"),
    }
}

// covers: R-361, R-369, R-370, R-372
#[tokio::test]
async fn cards_are_signed_and_verified_with_each_algorithm() {
    for key in keys() {
        let signed = JwsCardSigner::new(key.clone()).sign(card()).unwrap();
        let [signature] = signed.signatures.as_slice() else { panic!("not one signature") };
        let header = URL_SAFE_NO_PAD.decode(&signature.protected).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        let algorithm = key.algorithm();
        let expected = json!({"alg": algorithm.as_str(), "kid": key.public().id(), "typ": "JOSE"});
        assert_eq!(header, expected);
        let verified = verified(trusting(&[&key]), &signed).await;
        assert_eq!(verified.key_id, key.public().id());
        assert_eq!((verified.algorithm, verified.form), (algorithm, CanonicalForm::Members));
        let read: AgentCard = a2a_core::json::from_slice(&verified.covered).unwrap();
        assert_eq!(read, card(), "{algorithm}");
    }
}

// covers: R-372
#[tokio::test]
async fn deterministic_signatures_match_openssl() {
    // Computed with OpenSSL from the canonical bytes.
    let canonical = CanonicalForm::Members.canonicalize(&json(&AgentCard::new("A", ""))).unwrap();
    assert_eq!(
        String::from_utf8(canonical).unwrap(),
        concat!(
            r#"{"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"#,
            r#""defaultOutputModes":["text/plain"],"description":"","name":"A","skills":[],"#,
            r#""supportedInterfaces":[],"version":"1.0.0"}"#
        )
    );
    for (pem, expected) in [(EDDSA, VECTORS[0]), (RS256, VECTORS[1])] {
        let signer = JwsCardSigner::new(SigningKey::from_pem(pem).unwrap()).with_key_id("k");
        let signed = signer.sign(AgentCard::new("A", "")).unwrap();
        assert_eq!(signed.signatures[0].signature, expected);
    }
}

const VECTORS: [&str; 2] = [
    concat!(
        "vpMYz7TYETW54pH7ttCwX0Tcm6wibPFL1WT9OEYGfN82ZZsilYYOhSasbM4Yg4olnri7zmXbu9M2vzz_",
        "aGQfDA",
    ),
    concat!(
        "c-owcp7rt9nhi2aegiuie0ajDcWtJMHxTt4GQKW62cnOAXxyDExN3VDNt0qI10oP1_g4HELkyw02aRY_",
        "7mJhHQUXBtTcm8MhsNSKYhezu5wkmfjpCw6fs5zdryCR7nXcxOXFYXKjvu5i9Oc45qAaOQ-A44CesZRn",
        "hQ7cbjEJXidIWPr_W0tN4PTPe3xfgUMsK7b16Spch7CvHukWOixGIziUJxKkkNKpYTXE7AuPGcJlLZD0",
        "FH3wlRSZ2vf1aypX6jCzXucp9v7DyB_HHnwwRdqLOklhMqIxVopoH7gcgQej3UvbJsYm4CmuV2KP5ctC",
        "57-BGqbVdz-9qU_1iow4Dg",
    ),
];

// covers: R-362, R-372
#[tokio::test]
async fn signatures_of_other_sdks_are_verified() {
    // The official SDKs 1.3.0 for Python and JavaScript, with members of 0.3 in addition.
    let signed = [
        (ES256, include_bytes!("card/python_es256.json").as_slice()),
        (EDDSA, include_bytes!("card/python_eddsa.json")),
        (RS256, include_bytes!("card/python_rs256.json")),
        (ES256, include_bytes!("card/js_es256.json")),
        (EDDSA, include_bytes!("card/js_eddsa.json")),
        (RS256, include_bytes!("card/js_rs256.json")),
    ];
    for (pem, json) in signed {
        let key = SigningKey::from_pem(pem).unwrap();
        let trust = TrustStore::new().with_key(key.public().clone().with_id("interop-2026"));
        let found = verified(trust.clone(), &serde_json::from_slice::<Value>(json).unwrap()).await;
        assert_eq!((found.algorithm, found.form), (key.algorithm(), CanonicalForm::Members));
        let tampered = String::from_utf8_lossy(json).replace("🦀", "🦞");
        let tampered = JwsCardVerifier::new(trust).verify(tampered.as_bytes()).await;
        assert!(matches!(tampered, CardVerification::Unverifiable(_)), "{tampered}");
    }
}

// covers: R-372
#[tokio::test]
async fn any_change_to_a_card_invalidates_its_signature() {
    let key = key();
    let signed =
        serde_json::to_value(JwsCardSigner::new(key.clone()).sign(card()).unwrap()).unwrap();
    verified(trusting(&[&key]), &signed).await;
    for (pointer, value) in [
        ("/name", json!("Zurich 🦀")),
        ("/description", json!(" ")),
        ("/supportedInterfaces/0/url", json!("https://evil.example/rpc")),
        ("/supportedInterfaces/0/tenant", json!("other")),
        ("/capabilities/streaming", json!(false)),
        ("/capabilities/pushNotifications", json!(null)),
        ("/capabilities/extensions/0/required", json!(true)),
        ("/capabilities/extensions/0/params/empty", json!(null)),
        ("/capabilities/extensions/0/params/more", json!("")),
        ("/securityRequirements/0", json!({})),
        ("/securityRequirements/1/schemes/key/list", json!(["read", "write"])),
        ("/skills/0/id", json!("t")),
        ("/documentationUrl", json!("")),
        ("/provider", json!({"url": "", "organization": ""})),
    ] {
        let mut tampered = signed.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match tampered.pointer_mut(parent).unwrap() {
            Value::Array(elements) => elements[name.parse::<usize>().unwrap()] = value,
            Value::Object(members) => drop(members.insert(name.to_owned(), value)),
            other => panic!("{other}"),
        }
        let reasons = reasons(trusting(&[&key]), &tampered).await;
        assert!(matches!(reasons[..], [SignatureError::Signature]), "{pointer}: {reasons:?}");
    }
}

// covers: R-363
#[tokio::test]
async fn equivalent_json_is_verified() {
    let key = key();
    let mut signed =
        serde_json::to_value(JwsCardSigner::new(key.clone()).sign(card()).unwrap()).unwrap();
    signed["documentationUrl"] = json!(null);
    signed["securitySchemes"] = json!({});
    signed["supportedInterfaces"][0]["tenant"] = json!("");
    let url = signed["supportedInterfaces"][0]["protocolBinding"].take();
    let interface = signed["supportedInterfaces"][0].as_object_mut().unwrap();
    interface.remove("protocolBinding");
    interface.insert("protocol_binding".into(), url);
    verified(trusting(&[&key]), &signed).await;
}

// covers: R-376
#[tokio::test]
async fn keys_are_rotated_while_both_sign() {
    let (old, new) = (key(), other_key());
    let signed = JwsCardSigner::new(old.clone()).sign(card()).unwrap();
    let signed = JwsCardSigner::new(new.clone()).sign(signed).unwrap();
    assert_eq!(signed.signatures.len(), 2);
    assert_eq!(verified(trusting(&[&old]), &signed).await.key_id, old.public().id());
    assert_eq!(verified(trusting(&[&new]), &signed).await.key_id, new.public().id());
    let reasons = reasons(TrustStore::new(), &signed).await;
    assert!(
        matches!(reasons[..], [SignatureError::UnknownKey, SignatureError::UnknownKey]),
        "{reasons:?}"
    );

    let again = JwsCardSigner::new(old.clone()).sign(signed).unwrap();
    assert_eq!(again.signatures.len(), 2, "replaced the signature of the same key");
    let both = JwsCardSigner::new(old)
        .with_existing_signatures()
        .with_form(CanonicalForm::WithoutEmpty)
        .sign(again)
        .unwrap();
    assert_eq!(both.signatures.len(), 3, "kept the existing signature");
}

// covers: R-372, R-376
#[tokio::test]
async fn one_valid_signature_suffices_among_the_first_sixteen() {
    let key = key();
    let signed =
        serde_json::to_value(JwsCardSigner::new(key.clone()).sign(card()).unwrap()).unwrap();
    let good = signed["signatures"][0].clone();
    let bad = [
        json!(null),
        json!({}),
        json!({"protected": good["protected"], "signature": "!"}),
        json!({"protected": good["protected"], "signature": "AAAA"}),
        json!({"protected": "!", "signature": good["signature"]}),
        json!({"protected": good["protected"], "signature": good["signature"], "header": 1}),
    ];
    let mut many = signed.clone();
    many["signatures"] = bad.iter().cloned().chain([good.clone()]).collect();
    verified(trusting(&[&key]), &many).await;
    let filler = std::iter::repeat_n(bad[3].clone(), 16);
    many["signatures"] = filler.chain([good]).collect();
    assert_eq!(reasons(trusting(&[&key]), &many).await.len(), 16);
}

// covers: R-369
#[tokio::test]
async fn malformed_and_forged_signatures_are_rejected() {
    let (key, other) = (key(), other_key());
    let signed =
        serde_json::to_value(JwsCardSigner::new(key.clone()).sign(card()).unwrap()).unwrap();
    let id = key.public().id();
    for (header, signature) in [
        (json!({"alg": "none", "kid": id}), ""),
        (json!({"alg": "HS256", "kid": id}), "AAAA"),
        (json!({"alg": "ES256", "kid": id}), "AAAA"),
        (json!({"alg": "EdDSA", "kid": other.public().id()}), "AAAA"),
        (json!({"alg": "EdDSA"}), "AAAA"),
        (json!({"alg": "EdDSA", "kid": id, "crit": ["x"], "x": 1}), "AAAA"),
        (json!({"alg": "EdDSA", "kid": id, "jwk": {"kty": "OKP"}}), "AAAA"),
    ] {
        let mut forged = signed.clone();
        forged["signatures"][0]["protected"] = json!(URL_SAFE_NO_PAD.encode(header.to_string()));
        if signature != "AAAA" {
            forged["signatures"][0]["signature"] = json!(signature);
        }
        let reasons = reasons(trusting(&[&key, &other]), &forged).await;
        let is_expected = match header["alg"].as_str() {
            Some("none" | "HS256") => matches!(reasons[..], [SignatureError::Algorithm(_)]),
            Some("ES256") => {
                matches!(reasons[..], [SignatureError::OtherAlgorithm(Algorithm::EdDsa)])
            }
            _ => !reasons.is_empty(),
        };
        assert!(is_expected, "{header}: {reasons:?}");
    }
}

// covers: R-375
#[tokio::test]
async fn expired_and_revoked_keys_are_rejected() {
    let key = key();
    let signed = json(&JwsCardSigner::new(key.clone()).sign(card()).unwrap());
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    let public = key.public().clone();
    let verifier = |trust| JwsCardVerifier::new(trust);
    let until = verifier(TrustStore::new().with_key(public.clone().with_not_after(now + hour)));
    assert!(matches!(until.verify_at(&signed, now).await, CardVerification::Verified(_)));
    let from = verifier(TrustStore::new().with_key(public.clone().with_not_before(now + hour)));
    let trust = || TrustStore::new().with_key(public.clone());
    let by_id = verifier(trust().revoke(public.id()));
    let by_thumbprint = verifier(
        TrustStore::new().with_key(public.clone().with_id("renamed")).revoke(public.thumbprint()),
    );
    let renamed =
        json(&JwsCardSigner::new(key.clone()).with_key_id("renamed").sign(card()).unwrap());
    for (answer, expected) in [
        (until.verify_at(&signed, now + 2 * hour).await, "key has expired"),
        (from.verify_at(&signed, now).await, "key is not valid yet"),
        (by_id.verify_at(&signed, now).await, "key is revoked"),
        (by_thumbprint.verify_at(&renamed, now).await, "key is revoked"),
    ] {
        let text = answer.to_string();
        assert!(text.starts_with("unverifiable") && text.contains(expected), "{text}");
    }
    // The same with the members of a key set.
    let mut set = serde_json::to_value(public).unwrap();
    set["exp"] = json!(1_000_000_000);
    let expired: JwkSet = serde_json::from_value(json!({ "keys": [set.clone()] })).unwrap();
    let answer = verifier(TrustStore::new().with_keys(&expired)).verify(&signed).await;
    assert!(answer.to_string().contains("has expired"), "{answer}");
    set["exp"] = json!(null);
    set["revoked"] = json!({"revoked_at": 1_000_000_000});
    let revoked: JwkSet = serde_json::from_value(json!({ "keys": [set] })).unwrap();
    assert!(revoked.keys().is_empty());
}

// covers: R-371, R-374
#[tokio::test]
async fn jku_is_fetched_only_from_trusted_hosts() {
    let key = key();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let url = format!("http://{host}/keys.json");
    let signer = JwsCardSigner::new(key.clone()).with_key_id("2026").with_url(&url);
    let published = signer.jwks().json();
    let router = Router::new().route("/keys.json", get(async move || published));
    tokio::spawn(a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()));

    let signed = signer.sign(card()).unwrap();
    let trust = TrustStore::new().with_host(&host).unwrap();
    assert_eq!(verified(trust.clone(), &signed).await.key_id, "2026");
    for store in [TrustStore::new(), TrustStore::new().with_host("keys.example").unwrap()] {
        let reasons = reasons(store, &signed).await;
        assert!(matches!(&reasons[..], [SignatureError::UntrustedAddress(at)] if *at == url));
    }
    let refused = reasons(trust.clone().revoke(key.public().thumbprint()), &signed).await;
    assert!(matches!(refused[..], [SignatureError::Revoked]), "{refused:?}");
    let elsewhere = JwsCardSigner::new(key.clone()).with_url(format!("http://{host}/absent.json"));
    let unavailable = reasons(trust.clone(), &elsewhere.sign(card()).unwrap()).await;
    assert!(matches!(unavailable[..], [SignatureError::Keys(_)]), "{unavailable:?}");
    let unknown = JwsCardSigner::new(key).with_key_id("2027").with_url(&url).sign(card()).unwrap();
    // It may have been published meanwhile, but the fetch is rate-limited.
    let unknown = reasons(trust, &unknown).await;
    assert!(
        matches!(unknown[..], [SignatureError::Keys(_) | SignatureError::UnknownKey]),
        "{unknown:?}"
    );

    // A key source at a known URL needs no jku.
    let source = RemoteKeys::at(&url).unwrap();
    let plain = JwsCardSigner::new(self::key()).with_key_id("2026").sign(card()).unwrap();
    verified(TrustStore::new().with_source(source), &plain).await;
    let host = TrustStore::new().with_host("https://keys.example/");
    assert!(matches!(host, Err(SetupError::Host(_))));
}

// covers: R-371
#[tokio::test]
async fn unprotected_header_is_kept_and_ignored() {
    let key = key();
    let header = Struct::from([("note", "x")]);
    let signed = JwsCardSigner::new(key.clone()).with_header(header).sign(card()).unwrap();
    let mut received = serde_json::to_value(&signed).unwrap();
    assert_eq!(received["signatures"][0]["header"]["note"], "x");
    verified(trusting(&[&key]), &received).await;
    received["signatures"][0]["header"]["note"] = json!("changed");
    verified(trusting(&[&key]), &received).await;
    received["signatures"][0]["header"] = json!({"alg": "none"});
    let reasons = reasons(trusting(&[&key]), &received).await;
    assert!(matches!(reasons[..], [SignatureError::Malformed(_)]), "{reasons:?}");
}

// covers: R-238
#[tokio::test]
async fn unsigned_members_are_not_covered() {
    let key = key();
    let signed =
        serde_json::to_value(JwsCardSigner::new(key.clone()).sign(card()).unwrap()).unwrap();
    let mut hybrid = signed.clone();
    hybrid["url"] = json!("https://evil.example");
    hybrid["protocolVersion"] = json!("0.3.0");
    hybrid["skills"][0]["security"] = json!([]);
    let found = verified(trusting(&[&key]), &hybrid).await;
    assert_eq!(found.form, CanonicalForm::Members);
    let covered: Value = serde_json::from_slice(&found.covered).unwrap();
    assert_eq!(covered.get("url"), None);
    assert_eq!(covered["skills"][0].get("security"), None);
}

// covers: R-372
#[tokio::test]
async fn signatures_over_unknown_members_are_verified() {
    let key = key();
    let mut later = serde_json::to_value(card()).unwrap();
    later["futureMember"] = json!({"x": ""});
    let older = json!({
        "name": "A", "description": "", "url": "https://a.example", "protocolVersion": "0.3.0",
        "capabilities": {"extensions": []}, "skills": [], "iconUrl": null,
    });
    for (card, form, pointer) in [
        (later, CanonicalForm::AllMembers, "/futureMember/x"),
        (older, CanonicalForm::Received, "/url"),
    ] {
        let signer = JwsCardSigner::new(key.clone()).with_form(form);
        let mut signed = signer.sign_json(&json(&card)).unwrap();
        assert_eq!(verified(trusting(&[&key]), &signed).await.form, form);
        *signed.pointer_mut(pointer).unwrap() = json!("https://evil.example");
        let reasons = reasons(trusting(&[&key]), &signed).await;
        assert!(matches!(reasons[..], [SignatureError::Signature]), "{form}: {reasons:?}");
    }
}

// covers: R-366
#[tokio::test]
async fn form_without_empty_is_accepted_only_if_enabled() {
    let key = key();
    let signer = JwsCardSigner::new(key.clone()).with_form(CanonicalForm::WithoutEmpty);
    let signed = signer.sign(card()).unwrap();
    let reasons = reasons(trusting(&[&key]), &signed).await;
    assert!(matches!(reasons[..], [SignatureError::Signature]));
    let verifier = JwsCardVerifier::new(trusting(&[&key])).with_form_without_empty();
    let CardVerification::Verified(verified) = verifier.verify(&json(&signed)).await else {
        panic!("not verified")
    };
    assert_eq!(verified.form, CanonicalForm::WithoutEmpty);
    let read: AgentCard = a2a_core::json::from_slice(&verified.covered).unwrap();
    assert_eq!(read, card(), "empty members are read although not covered");
    // A card without empty members is the same in both forms.
    let full = AgentCard::new("A", "b")
        .with_interface("JSONRPC", "https://a.example")
        .with_skill(AgentSkill::new("s", "S", "t").with_tags(["u"]));
    let signed = signer.sign(full).unwrap();
    assert_eq!(self::verified(trusting(&[&key]), &signed).await.form, CanonicalForm::Members);
}

#[tokio::test]
async fn cards_without_signatures_are_absent_and_other_documents_unverifiable() {
    let verifier = JwsCardVerifier::new(TrustStore::new());
    for text in ["{}", r#"{"signatures": null}"#, r#"{"signatures": []}"#] {
        assert!(
            matches!(verifier.verify(text.as_bytes()).await, CardVerification::Absent),
            "{text}"
        );
    }
    for text in ["", "[]", r#"{"signatures": {}}"#, r#"{"a": 1, "a": 2}"#] {
        let answer = verifier.verify(text.as_bytes()).await;
        assert!(matches!(&answer, CardVerification::Unverifiable(_)), "{text}: {answer}");
    }
}

#[tokio::test]
async fn signer_and_verifier_implement_the_server_and_client_traits() {
    let key = key();
    let signer: &dyn CardSigner = &JwsCardSigner::new(key.clone());
    let verifier: &dyn CardVerifier = &JwsCardVerifier::new(trusting(&[&key]));
    let interface = AgentInterface { url: "https://b.example".into(), ..AgentInterface::default() };
    let mut signed = signer.sign(card()).unwrap();
    let CardSignature::Verified { key_id, .. } = verifier.verify(&json(&signed)).await else {
        panic!("not verified")
    };
    assert_eq!(key_id, key.public().id());
    signed.supported_interfaces.push(interface);
    let answer = verifier.verify(&json(&signed)).await;
    let expected = format!("unverifiable ({key_id:?}: invalid signature)");
    assert_eq!(answer.to_string(), expected);
    assert_eq!(verifier.verify(b"{}").await, CardSignature::Absent);
}
