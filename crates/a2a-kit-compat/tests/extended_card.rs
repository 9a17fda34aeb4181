//! The extended card of 0.2, served and read as a document.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../../a2a-kit-http/tests/fake/mod.rs"]
mod fake;

use a2a_core::{
    AgentCard, ErrorKind, ProtocolVersion, card,
    v1::{AgentInterface, GetExtendedAgentCardRequest},
};
use a2a_kit_compat::{ServerOptions, client::JsonRpcClient, server};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{Agent as _, Call, Engine, agent_fn};
use serde_json::Value;

use fake::{Connection, serve};

const PATH: &str = "/agent/authenticatedExtendedCard";

fn engine(extended: Option<AgentCard>) -> Engine {
    let card = AgentCard::new("Echo", "Says what it hears").with_extended_card(extended.is_some());
    let engine = Engine::builder(card, agent_fn(async |text: String| text));
    match extended {
        Some(extended) => engine.extended_card(extended).build(),
        None => engine.build(),
    }
}

fn extended() -> AgentCard {
    let interface = AgentInterface {
        url: "http://127.0.0.1:1/".into(),
        protocol_binding: card::JSONRPC.into(),
        protocol_version: "0.3".into(),
        ..AgentInterface::default()
    };
    let mut card = AgentCard::new("Echo", "Says more to those it knows");
    card.supported_interfaces.push(interface);
    card
}

fn options(revisions: &str) -> ServerOptions {
    ServerOptions::default().with_revisions(revisions.parse().unwrap())
}

async fn read(address: &str) -> a2a_core::Result<AgentCard> {
    let http = HttpClient::new(ClientSettings::default()).unwrap();
    let client = JsonRpcClient::new(&format!("http://{address}/"), ProtocolVersion::V0_2, http)?;
    let call = Call::new(GetExtendedAgentCardRequest::default());
    client.get_extended_agent_card(call).await.map(|reply| reply.response)
}

#[tokio::test]
async fn extended_card_of_0_2_is_served_as_a_document() {
    let address = serve(server::extended_card(engine(Some(extended())), options("all"))).await;
    let got = Connection::open(&address).await.ask(&format!("GET {PATH}"), &[], "").await;
    assert_eq!(got.status, 200, "{got:?}");
    let card: Value = serde_json::from_str(&got.body).unwrap();
    assert_eq!(card["description"], "Says more to those it knows");
    let card = read(&address).await.unwrap();
    assert_eq!(card.description, "Says more to those it knows");
}

#[tokio::test]
async fn missing_extended_card_is_not_found() {
    let address = serve(server::extended_card(engine(None), options("all"))).await;
    let got = Connection::open(&address).await.ask(&format!("GET {PATH}"), &[], "").await;
    assert_eq!(got.status, 404, "{got:?}");
}

#[tokio::test]
async fn document_is_not_served_if_0_2_is_disabled() {
    let address = serve(server::extended_card(engine(Some(extended())), options("1.0,0.1"))).await;
    let got = Connection::open(&address).await.ask(&format!("GET {PATH}"), &[], "").await;
    assert_eq!(got.status, 404, "{got:?}");
}

#[tokio::test]
async fn client_falls_back_to_the_method() {
    let address = serve(server::jsonrpc(engine(Some(extended())), options("all"))).await;
    let card = read(&address).await.unwrap();
    assert_eq!(card.description, "Says more to those it knows");
    let address = serve(server::jsonrpc(engine(None), options("all"))).await;
    let error = read(&address).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{error}");
}
