//! A server that signs its cards, and clients that ask for that.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::sync::Arc;

use a2a_core::v1::{AgentSkill, GetExtendedAgentCardRequest, SecurityScheme};
use a2a_kit::{AgentCard, Client, Engine, Server, agent_fn};
use a2a_kit_auth::{
    card::{CanonicalForm, CardVerification, JwsCardSigner, JwsCardVerifier, TrustStore},
    jose::{Algorithm, SigningKey},
};
use a2a_kit_client::{ClientSettings, Discovery, DiscoveryError, Document, SignaturePolicy};
use a2a_kit_compat::Revisions;
use a2a_kit_http::card::CardDocument;
use a2a_kit_operations::{CardSignature, CardVerifier};
use serde_json::{Value, json};

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).unwrap()
}

fn verifier(key: &SigningKey) -> Arc<dyn CardVerifier> {
    Arc::new(JwsCardVerifier::new(TrustStore::new().with_key(key.public().clone())))
}

/// A card with something of everything that older revisions write otherwise.
fn card() -> AgentCard {
    AgentCard::new("Echo", "Repeats its input")
        .with_skill(AgentSkill::new("echo", "Echo", "").requiring("key"))
        .with_provider("Example", "https://example.com")
        .with_security_scheme("key", SecurityScheme::api_key_header("X-Key"))
}

async fn serve(server: impl FnOnce(Server) -> Server) -> String {
    let engine = Engine::builder(card(), agent_fn(async |text: String| text))
        .extended_card(AgentCard::new("Echo", "Says more"))
        .build();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = server(Server::from(engine).trust_layers_for_auth());
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    url
}

/// Serves a document as a card, whatever it is.
async fn show(document: impl ToString) -> String {
    let router = CardDocument::from_json(document.to_string()).into_router();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()));
    url
}

async fn fetch(url: &str, policy: SignaturePolicy) -> Result<Document, DiscoveryError> {
    let discovery = Discovery::new(ClientSettings::default())?.with_signatures(policy);
    discovery.fetch(&url.parse()?).await
}

//
#[tokio::test]
async fn a_card_is_signed_with_the_interfaces_that_are_served_and_for_readers_of_every_revision() {
    let key = key();
    for revisions in [Revisions::all(), Revisions::latest()] {
        let is_hybrid = revisions != Revisions::latest();
        let signer = JwsCardSigner::new(key.clone());
        let url = serve(|server| server.with_card_signer(signer).with_revisions(revisions)).await;
        let document = fetch(&url, SignaturePolicy::Required(verifier(&key))).await.unwrap();
        let received: Value = serde_json::from_slice(&document.json).unwrap();
        assert_eq!(received.get("url").is_some(), is_hybrid);
        assert!(received["supportedInterfaces"][0]["url"].as_str().unwrap().contains(&url));
        let Some(CardSignature::Verified { key_id, covered }) = &document.signature else {
            panic!("{:?}", document.signature)
        };
        assert_eq!(key_id, key.public().id());
        let covered: Value = serde_json::from_slice(covered).unwrap();
        assert_eq!(covered.get("url"), None);
        let client = Client::builder()
            .signatures(SignaturePolicy::Required(verifier(&key)))
            .connect(&url)
            .await
            .unwrap();
        assert_eq!(client.send_text("hello").await.unwrap(), "hello");
    }
}

//
#[tokio::test]
async fn a_signature_is_kept_where_the_card_is_served_as_it_was_signed() {
    let key = key();
    for (card, is_kept) in
        [(card(), false), (card().with_interface("JSONRPC", "https://echo.example"), true)]
    {
        let signed = JwsCardSigner::new(key.clone()).sign(card).unwrap();
        let engine = Engine::new(signed, agent_fn(async |text: String| text));
        let server = Server::from(engine).trust_layers_for_auth();
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
        let document = fetch(&url, SignaturePolicy::Report(verifier(&key))).await.unwrap();
        let is_verified = matches!(document.signature, Some(CardSignature::Verified { .. }));
        assert_eq!(is_verified, is_kept);
        assert_eq!(document.card.signatures.len(), usize::from(is_kept));
    }
}

//
#[tokio::test]
async fn the_extended_card_is_signed_too() {
    let key = key();
    let signer = JwsCardSigner::new(key.clone());
    let url = serve(|server| server.with_card_signer(signer)).await;
    let client = Client::connect(&url).await.unwrap();
    let request = client.call(GetExtendedAgentCardRequest::default());
    let extended = client.agent().get_extended_agent_card(request).await.unwrap().response;
    assert_eq!(extended.description, "Says more");
    let trust = TrustStore::new().with_key(key.public().clone());
    let verification =
        JwsCardVerifier::new(trust).verify(&serde_json::to_vec(&extended).unwrap()).await;
    assert!(matches!(verification, CardVerification::Verified(_)), "{verification}");
}

//
#[tokio::test]
async fn a_client_takes_cards_by_its_policy() {
    let (key, stranger) = (key(), key());
    let signed = serve(|server| server.with_card_signer(JwsCardSigner::new(key.clone()))).await;
    let unsigned = serve(|server| server).await;
    let trusted = verifier(&key);
    let other = verifier(&stranger);
    for (url, policy, expected) in [
        (&signed, SignaturePolicy::Off, Ok(None)),
        (&signed, SignaturePolicy::Report(other.clone()), Ok(Some("unverifiable"))),
        (&signed, SignaturePolicy::WhenPresent(trusted.clone()), Ok(Some("verified"))),
        (&signed, SignaturePolicy::WhenPresent(other.clone()), Err("unverifiable")),
        (&signed, SignaturePolicy::Required(other.clone()), Err("unverifiable")),
        (&unsigned, SignaturePolicy::Report(trusted.clone()), Ok(Some("absent"))),
        (&unsigned, SignaturePolicy::WhenPresent(trusted.clone()), Ok(Some("absent"))),
        (&unsigned, SignaturePolicy::Required(trusted.clone()), Err("absent")),
    ] {
        let case = format!("{policy:?}: {expected:?}");
        match (fetch(url, policy).await, expected) {
            (Ok(document), Ok(expected)) => {
                let signature = document.signature.map(|signature| signature.to_string());
                let is_same = match (&signature, expected) {
                    (Some(text), Some(start)) => text.starts_with(start),
                    (None, None) => true,
                    _ => false,
                };
                assert!(is_same, "{case}: {signature:?}");
            }
            (Err(DiscoveryError::Signature(signature)), Err(start)) => {
                assert!(signature.to_string().starts_with(start), "{case}: {signature}");
            }
            (other, _) => panic!("{case}: {other:?}"),
        }
    }
}

//
#[tokio::test]
async fn unsigned_members_beside_a_signed_card_are_ignored() {
    let key = key();
    let honest = card().with_interface("JSONRPC", "https://echo.example");
    let signed =
        serde_json::to_value(JwsCardSigner::new(key.clone()).sign(honest).unwrap()).unwrap();
    let mut hybrid = signed.clone();
    hybrid["url"] = json!("https://evil.example");
    hybrid["protocolVersion"] = json!("0.3.0");
    hybrid["preferredTransport"] = json!("JSONRPC");
    let url = show(hybrid).await;
    let document = fetch(&url, SignaturePolicy::Required(verifier(&key))).await.unwrap();
    let interfaces = &document.card.supported_interfaces;
    assert!(interfaces.iter().all(|one| one.url == "https://echo.example"), "{interfaces:?}");
    assert_eq!(document.card.signatures.len(), 1);

    let mut tampered = signed;
    tampered["supportedInterfaces"][0]["url"] = json!("https://evil.example");
    let url = show(tampered).await;
    let refused = fetch(&url, SignaturePolicy::WhenPresent(verifier(&key))).await;
    assert!(matches!(refused, Err(DiscoveryError::Signature(_))), "{refused:?}");
}

//
#[tokio::test]
async fn a_card_of_0_3_is_verified_as_it_was_received() {
    let key = key();
    let older = json!({
        "name": "A", "description": "", "url": "https://a.example", "version": "1",
        "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    });
    let signer = JwsCardSigner::new(key.clone()).with_form(CanonicalForm::Received);
    let signed = signer.sign_json(older.to_string().as_bytes()).unwrap();
    let url = show(&signed).await;
    let document = fetch(&url, SignaturePolicy::Required(verifier(&key))).await.unwrap();
    assert_eq!(document.card.supported_interfaces[0].url, "https://a.example");
    let mut tampered = signed;
    tampered["url"] = json!("https://evil.example");
    let url = show(&tampered).await;
    assert!(fetch(&url, SignaturePolicy::Required(verifier(&key))).await.is_err());
}
