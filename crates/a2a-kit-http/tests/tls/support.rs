//! A TLS server, and a client that inspects the handshake.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use a2a_kit_http::{
    HttpServer, PeerCertificates,
    client::{ClientSettings, HttpClient},
    tls::{ClientTls, Pem, Tls, TlsSettings},
};
use a2a_test_certificates::{Authority, Identity};
use axum::{Router, extract::Request, routing};
use bytes::Bytes;
use http::Response;
use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Timeout of a test.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Responds with the HTTP version of the request and the size of the client certificate.
fn router() -> Router {
    let describe = async |request: Request| {
        let peer = PeerCertificates::of(request.extensions());
        format!("{:?} {}", request.version(), peer.map_or(0, |peer| peer.leaf().len()))
    };
    Router::new().route("/", routing::get(describe))
}

pub(crate) fn settings(identity: &Identity) -> TlsSettings {
    TlsSettings::new(Pem::text(&identity.certificate), Pem::text(&identity.key))
}

pub(crate) async fn start(tls: Tls) -> SocketAddr {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = HttpServer::new(router()).with_tls(tls);
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

pub(crate) fn trusting(authority: &Authority) -> ClientTls {
    ClientTls::new().with_roots(&Pem::text(authority.root())).unwrap()
}

/// Sends one request over a new connection.
pub(crate) async fn get(address: SocketAddr, tls: ClientTls) -> a2a_core::Result<Response<Bytes>> {
    let client = HttpClient::new(ClientSettings::default().with_tls(tls)).unwrap();
    let request = http::Request::get(format!("https://{address}/")).body(Bytes::new());
    client.send(request.unwrap()).await
}

/// Client settings that offer these ALPN protocols and TLS versions.
pub(crate) fn offering(
    certificate: &str,
    protocols: &[&str],
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

pub(crate) async fn handshake(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::clone(config)).connect(name, stream).await
}

/// Returns the current certificate of the server at `address`.
pub(crate) async fn shown(address: SocketAddr, config: &Arc<ClientConfig>) -> Vec<u8> {
    let stream = handshake(address, config).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}
