//! One agent over TLS, called at every binding by clients with and without certificates.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use std::net::SocketAddr;

use a2a_kit::{
    AgentCard, Client, Engine, ErrorKind, Server, agent_fn,
    client::{ClientSettings, DiscoveryError, Transport},
    http::{
        PeerCertificates,
        tls::{ClientCertificates, ClientTls, Pem, Tls, TlsSettings},
    },
};
use a2a_test_certificates::Authority;
use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use tokio::net::TcpListener;

fn encrypted(authority: &Authority) -> TlsSettings {
    let identity = authority.for_this_machine("server");
    TlsSettings::new(Pem::text(identity.certificate), Pem::text(identity.key))
}

fn trusting(authority: &Authority) -> ClientTls {
    ClientTls::new().with_roots(&Pem::text(authority.root())).unwrap()
}

fn server(tls: Tls) -> Server {
    let card = AgentCard::new("Echo", "Repeats its input");
    Server::from(Engine::new(card, agent_fn(async |text: String| format!("You said: {text}"))))
        .with_tls(tls)
}

async fn start(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

async fn connect(
    address: SocketAddr,
    transport: Transport,
    tls: ClientTls,
) -> Result<Client, DiscoveryError> {
    Client::builder()
        .only([transport])
        .http(ClientSettings::default().with_tls(tls))
        .connect(&format!("https://{address}"))
        .await
}

//
//
#[tokio::test]
async fn every_binding_is_encrypted_and_the_card_says_so() {
    let authority = Authority::new("root");
    let address = start(server(encrypted(&authority).load().unwrap())).await;
    for transport in Transport::ALL {
        let client = connect(address, transport, trusting(&authority)).await.unwrap();
        let interface = client.interface().unwrap().clone();
        assert_eq!(interface.url, format!("https://{address}"), "{transport}");
        assert_eq!(client.send_text("hi").await.unwrap(), "You said: hi", "{transport}");
        let outcome = client.stream("hi").await.unwrap().outcome().await.unwrap();
        assert!(outcome.state().is_some(), "{transport}");
    }
}

#[tokio::test]
async fn grpc_at_a_port_of_its_own_is_encrypted_too() {
    let authority = Authority::new("root");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let grpc = listener.local_addr().unwrap();
    let server = server(encrypted(&authority).load().unwrap()).with_grpc_listener(listener);
    let address = start(server).await;
    let client = connect(address, Transport::Grpc, trusting(&authority)).await.unwrap();
    assert_eq!(client.interface().unwrap().url, format!("https://{grpc}"));
    assert_eq!(client.send_text("hi").await.unwrap(), "You said: hi");
}

//
#[tokio::test]
async fn servers_with_untrusted_certificates_are_rejected_on_every_binding() {
    let authority = Authority::new("root");
    let address = start(server(encrypted(&authority).load().unwrap())).await;
    for transport in Transport::ALL {
        let known = connect(address, transport, trusting(&authority)).await.unwrap();
        let card = known.card();
        assert!(connect(address, transport, ClientTls::new()).await.is_err(), "{transport}");
        // The card is at hand, so that only the call itself can fail.
        let client = Client::builder().only([transport]).build((*card).clone()).unwrap();
        let error = client.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{transport}: {error}");
    }
}

#[tokio::test]
async fn client_certificate_identifies_the_caller_on_every_binding() {
    async fn only_known(request: Request, next: Next) -> Response {
        match PeerCertificates::of(request.extensions()) {
            Some(peer) if !peer.leaf().is_empty() => next.run(request).await,
            _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
    let authority = Authority::new("root");
    let tls = encrypted(&authority)
        .with_client_roots(Pem::text(authority.root()), ClientCertificates::Required);
    let server = server(tls.load().unwrap())
        .with_layers(|router| router.layer(axum::middleware::from_fn(only_known)));
    let address = start(server).await;
    let client = authority.for_this_machine("client");
    let (certificate, key) = (Pem::text(client.certificate), Pem::text(client.key));
    for transport in Transport::ALL {
        let known = trusting(&authority).with_identity(&certificate, &key).unwrap();
        let client = connect(address, transport, known).await.unwrap();
        assert_eq!(client.send_text("hi").await.unwrap(), "You said: hi", "{transport}");

        // Without a certificate there is no card to be had, and no call where it is at hand.
        assert!(connect(address, transport, trusting(&authority)).await.is_err(), "{transport}");
        let card = (*client.card()).clone();
        let settings = ClientSettings::default().with_tls(trusting(&authority));
        let unknown = Client::builder().only([transport]).http(settings).build(card).unwrap();
        let error = unknown.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{transport}: {error}");
    }
}
