//! Credentials that a user provides for one agent.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use a2a_core::{
    AgentCard, card,
    v1::{SecurityRequirement, SecurityScheme},
};
use a2a_kit_auth::client::{ApiKey, Basic, Bearer, CredentialError, Credentials};
use a2a_kit_operations::CredentialLocation;

const AGENT: &str = "https://agent.example";

fn bearer() -> Credentials {
    Credentials::new().unconditional().with(Bearer::new("b"))
}

fn key() -> Credentials {
    Credentials::new().unconditional().with(ApiKey::new("k"))
}

/// Returns the secrets with their places for the first interface of a card.
async fn sent(credentials: &Credentials, card: &AgentCard) -> Vec<(CredentialLocation, String)> {
    let agent = credentials.for_agent(card, &card.supported_interfaces[0], None).unwrap();
    let credential = agent.credential().await.unwrap();
    credential.expose().map(|(place, value)| (place.clone(), value.to_owned())).collect()
}

#[tokio::test]
async fn explicit_credential_is_sent_where_the_card_declares_its_scheme() {
    let open = AgentCard::new("a", "b").with_interface(card::JSONRPC, AGENT);
    let over_grpc = AgentCard::new("a", "b").with_interface(card::GRPC, "agent.example:443");
    let shop_key = ("key", SecurityScheme::api_key_header("X-Shop-Key"));
    let query_key = ("key", SecurityScheme::api_key_query("key"));
    let with = |card: &AgentCard, schemes: &[(&str, SecurityScheme)]| {
        schemes.iter().fold(card.clone(), |card, (name, scheme)| {
            card.with_security_scheme(*name, scheme.clone())
        })
    };
    let authorization = |value: &str| (CredentialLocation::Authorization, value.to_owned());
    let header = |name: &str| (CredentialLocation::Header(name.into()), "k".to_owned());
    let requiring_more = with(&open, &[("b", SecurityScheme::bearer()), shop_key.clone()])
        .requiring(SecurityRequirement::new("b").and("key"));
    let basic = Credentials::new().unconditional().with(Basic::new("u", "p").unwrap());
    let both = bearer().with(ApiKey::new("k"));
    for (credentials, card, expected) in [
        (&bearer(), open.clone(), vec![authorization("Bearer b")]),
        (&key(), open.clone(), vec![header("x-api-key")]),
        (&basic, open.clone(), vec![authorization("Basic dTpw")]),
        (&both, open.clone(), vec![authorization("Bearer b"), header("x-api-key")]),
        (
            &bearer(),
            with(&open, &[("b", SecurityScheme::bearer())]),
            vec![authorization("Bearer b")],
        ),
        (&bearer(), with(&open, &[("b", SecurityScheme::basic())]), vec![]),
        (&key(), with(&open, &[shop_key]), vec![header("x-shop-key")]),
        (&key(), with(&open, &[("b", SecurityScheme::bearer())]), vec![]),
        (
            &key(),
            with(&open, std::slice::from_ref(&query_key)),
            vec![(CredentialLocation::Query("key".into()), "k".to_owned())],
        ),
        (&key(), with(&over_grpc, &[query_key]), vec![]),
        // The requirement is not satisfied, but the agent decides.
        (&bearer(), requiring_more, vec![authorization("Bearer b")]),
    ] {
        let schemes: Vec<_> = card.security_schemes.keys().collect();
        assert_eq!(sent(credentials, &card).await, expected, "{credentials:?} {schemes:?}");
    }
}

#[test]
fn plaintext_has_to_be_allowed() {
    let card = AgentCard::new("a", "b").with_interface(card::JSONRPC, "http://agent.example");
    let interface = &card.supported_interfaces[0];
    let rejected = bearer().for_agent(&card, interface, None).unwrap_err();
    assert!(matches!(rejected, CredentialError::Plaintext(_)), "{rejected}");
    let allowed = bearer().allow_plaintext().for_agent(&card, interface, None);
    assert!(!allowed.unwrap().is_empty());
}

#[tokio::test]
async fn challenge_is_answered_by_a_source_for_its_scheme() {
    let secure = "https://agent.example".parse().unwrap();
    let plaintext = "http://agent.example".parse().unwrap();
    for (challenge, origin, expected) in [
        ("Bearer realm=\"agents\"", &secure, Some("Bearer b")),
        ("bearer", &secure, Some("Bearer b")),
        ("Basic realm=\"agents\"", &secure, None),
        ("", &secure, None),
        ("Bearer", &plaintext, None),
    ] {
        let credential = bearer().for_challenge(challenge, origin).await.unwrap();
        let value = credential.as_ref().and_then(|credential| credential.authorization());
        assert_eq!(value, expected, "{challenge:?} of {origin}");
    }
    let allowed = bearer().allow_plaintext().for_challenge("Bearer", &plaintext).await.unwrap();
    assert!(allowed.is_some());
}
