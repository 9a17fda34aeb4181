//! Authorization servers with a private root certificate and mutual TLS.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;
#[path = "support/tls.rs"]
mod tls;

use a2a_core::{
    error_chain,
    v1::{HttpAuthSecurityScheme, security_scheme::Scheme},
};
use a2a_kit_auth::client::{
    ClientCredentials, CredentialError, CredentialRequest, CredentialSource as _, Endpoints,
    OAuthClient, Secret,
};
use a2a_kit_http::tls::{ClientCertificates, ClientTls};
use a2a_test_certificates::Authority;
use support::AuthorizationServer;

async fn token(client: OAuthClient) -> Result<Secret, CredentialError> {
    let bearer = Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
        scheme: "Bearer".into(),
        ..HttpAuthSecurityScheme::default()
    });
    let request = CredentialRequest::new("https://agent.example".parse().unwrap(), "login", bearer);
    ClientCredentials::new(client).obtain(&request, None).await
}

/// Clients with a configured token URL, and with a configured issuer.
fn clients(server: &AuthorizationServer) -> [OAuthClient; 2] {
    let client = || OAuthClient::confidential("app", "its secret").unwrap();
    [
        client().with_endpoints(Endpoints::new(&server.at("/token")).unwrap()),
        client().with_issuer(&server.url).unwrap(),
    ]
}

//
#[tokio::test]
async fn private_root_of_an_authorization_server_has_to_be_trusted() {
    let (authority, other) = (Authority::new("root"), Authority::new("root"));
    let server = AuthorizationServer::start_with(tls::server(&authority).load().unwrap()).await;
    assert!(server.url.starts_with("https://"), "{}", server.url);
    for client in clients(&server) {
        for (tls, who) in
            [(ClientTls::new(), "the platform"), (tls::client(&other, None), "another")]
        {
            let error = token(client.clone().with_tls(tls).unwrap()).await.unwrap_err();
            assert!(matches!(error, CredentialError::Unavailable(_)), "{who}: {error:?}");
            let text = error_chain(&error);
            assert!(text.contains("invalid peer certificate"), "{who}: {text}");
            assert!(!text.contains("its secret"), "{who}: {text}");
        }
        assert!(server.records().asked.is_empty());
        let trusting = client.with_tls(tls::client(&authority, None)).unwrap();
        assert!(token(trusting).await.unwrap().expose().starts_with("access-"));
        server.records().asked.clear();
    }
}

#[tokio::test]
async fn client_certificate_is_presented_to_the_authorization_server() {
    let authority = Authority::new("root");
    let tls = tls::server(&authority)
        .with_client_roots(tls::root(&authority), ClientCertificates::Required);
    let server = AuthorizationServer::start_with(tls.load().unwrap()).await;
    let certified = authority.for_host("app");
    for client in clients(&server) {
        let without = client.clone().with_tls(tls::client(&authority, None)).unwrap();
        let error = token(without).await.unwrap_err();
        assert!(matches!(error, CredentialError::Unavailable(_)), "{error:?}");
        assert!(server.records().asked.is_empty());
        let with = client.with_tls(tls::client(&authority, Some(&certified))).unwrap();
        assert!(token(with).await.unwrap().expose().starts_with("access-"));
        server.records().asked.clear();
    }
}
