//! Client certificates over real TLS.

use std::net::SocketAddr;

use a2a_core::v1::{MutualTlsSecurityScheme, security_scheme::Scheme};
use a2a_kit::{
    Client, ErrorKind,
    client::{
        ClientSettings, DiscoveryError, RetryPolicy, Transport,
        credentials::{ApiKey, CredentialError, Credentials},
    },
    http::tls::{ClientCertificates, ClientTls},
    operations::Caller,
};
use a2a_kit_auth::server::{ApiKeys, Certificates, Guard};
use a2a_test_certificates::{
    Authority,
    rcgen::{CertificateParams, DistinguishedName, DnType, SanType, date_time_ymd},
};
use ring::digest;

use crate::{
    fixture::{api_key, card, requirement, serve, server},
    tls,
};

/// A certificate's subject, and its alternative names.
fn named(name: &str, alternative: Vec<SanType>) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Example");
    params.distinguished_name.push(DnType::CommonName, name);
    params.subject_alt_names = alternative;
    params
}

fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

fn dns(text: &str) -> SanType {
    SanType::DnsName(text.try_into().unwrap())
}

async fn ask(
    address: SocketAddr,
    transport: Transport,
    tls: ClientTls,
    key: Option<&str>,
) -> a2a_kit::types::Result<String> {
    let mut builder = Client::builder()
        .only([transport])
        .retry(RetryPolicy::NEVER)
        .http(ClientSettings::default().with_tls(tls));
    if let Some(key) = key {
        builder = builder.header(http::HeaderName::from_static("x-key"), key.parse().unwrap());
    }
    builder.connect(&format!("https://{address}")).await.unwrap().send_text("hi").await
}

async fn start(authority: &Authority, certificates: Certificates) -> SocketAddr {
    let settings = tls::server(authority)
        .with_client_roots(tls::root(authority), ClientCertificates::Optional);
    let card = card(
        &[("mtls", mutual()), ("key", api_key("header", "x-key"))],
        &[requirement(&[("mtls", &[])]), requirement(&[("key", &[])])],
    );
    let keys = ApiKeys::new().with_key("secret", Caller::authenticated("keyed"));
    let guard = Guard::new().with_verifier("mtls", certificates).with_verifier("key", keys);
    serve(server(card).with_tls(settings.load().unwrap()).with_auth(guard)).await
}

fn mutual() -> Scheme {
    Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default())
}

//
#[tokio::test]
async fn certificates_are_matched_by_each_identifier() {
    let authority = Authority::new("root");
    let by_uri = authority.issue(named("x", vec![uri("spiffe://example/ann")]));
    let by_dns = authority.issue(named("x", vec![dns("Bob.example")]));
    let by_subject = authority.issue(named("cy", vec![]));
    let by_hash = authority.issue(named("x", vec![uri("spiffe://example/ann")]));
    let fingerprint = digest::digest(&digest::SHA256, &by_hash.der);
    let fingerprint: Vec<_> =
        fingerprint.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    let unknown_client = authority.issue(named("dan", vec![uri("spiffe://example/dan")]));
    let certificates = Certificates::new()
        .with_uri("spiffe://example/ann", Caller::authenticated("ann").with_scopes(["read"]))
        .with_dns("bob.EXAMPLE", Caller::authenticated("bob"))
        .with_subject("CN=cy,O=Example", Caller::authenticated("cy"))
        .with_fingerprint(&fingerprint.join(":"), Caller::authenticated("eve"))
        .unwrap();
    let address = start(&authority, certificates).await;
    for transport in Transport::ALL {
        for (certified, name) in
            [(&by_uri, "ann read"), (&by_dns, "bob"), (&by_subject, "cy"), (&by_hash, "eve")]
        {
            let answer =
                ask(address, transport, tls::client(&authority, Some(certified)), None).await;
            assert_eq!(answer.unwrap(), name, "{transport}");
        }
        for certified in [Some(&unknown_client), None] {
            let refused = ask(address, transport, tls::client(&authority, certified), None).await;
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{transport}");
            let challenge = error.challenge().unwrap();
            assert!(challenge.contains("MutualTLS realm=\"a2a\""), "{transport}: {challenge}");
            let keyed =
                ask(address, transport, tls::client(&authority, certified), Some("secret")).await;
            assert_eq!(keyed.unwrap(), "keyed", "{transport}");
        }
    }
}

#[tokio::test]
async fn any_verified_certificate_is_accepted_if_enabled() {
    let authority = Authority::new("root");
    let address = start(&authority, Certificates::new().with_any()).await;
    for (params, name) in [
        (named("ann", vec![uri("spiffe://example/ann")]), "x509#spiffe://example/ann"),
        (named("bob", vec![dns("bob.example")]), "x509#CN=bob,O=Example"),
    ] {
        let certified = authority.issue(params);
        let tls = tls::client(&authority, Some(&certified));
        assert_eq!(ask(address, Transport::Grpc, tls, None).await.unwrap(), name);
    }
    let mut expired = named("old", vec![]);
    expired.not_before = date_time_ymd(2001, 1, 1);
    expired.not_after = date_time_ymd(2002, 1, 1);
    let expired = authority.issue(expired);
    let builder = Client::builder().only([Transport::JsonRpc]).retry(RetryPolicy::NEVER);
    let tls = tls::client(&authority, Some(&expired));
    let builder = builder.http(ClientSettings::default().with_tls(tls));
    let refused = builder.connect(&format!("https://{address}")).await;
    assert!(refused.is_err(), "the handshake fails");
}

/// Calls an agent that requires mutual TLS, with or without a certificate.
async fn ask_by_card(
    address: SocketAddr,
    transport: Transport,
    tls: ClientTls,
) -> Result<a2a_kit::types::Result<String>, DiscoveryError> {
    let client = Client::builder()
        .only([transport])
        .retry(RetryPolicy::NEVER)
        .http(ClientSettings::default().with_tls(tls))
        .credentials(Credentials::new().with(ApiKey::new("unused")))
        .connect(&format!("https://{address}"))
        .await?;
    client.authenticate().await.expect("has a certificate");
    match client.stream("hi").await {
        Ok(events) => drop(events.outcome().await.unwrap()),
        Err(error) => return Ok(Err(error)),
    }
    Ok(client.send_text("hi").await)
}

//
#[tokio::test]
async fn mutual_tls_is_satisfied_only_by_a_certificate() {
    let (authority, other) = (Authority::new("root"), Authority::new("root"));
    let ann = authority.issue(named("ann", vec![uri("spiffe://example/ann")]));
    let bob = authority.issue(named("bob", vec![uri("spiffe://example/bob")]));
    let unknown_client = other.issue(named("ann", vec![uri("spiffe://example/ann")]));
    for asked in [ClientCertificates::Required, ClientCertificates::Optional] {
        let certificates =
            Certificates::new().with_uri("spiffe://example/ann", Caller::authenticated("ann"));
        let tls = tls::server(&authority).with_client_roots(tls::root(&authority), asked);
        let card = card(&[("mtls", mutual())], &[requirement(&[("mtls", &[])])]);
        let guard = Guard::new().with_verifier("mtls", certificates);
        let server = server(card).with_tls(tls.load().unwrap()).with_auth(guard);
        let address = serve(server).await;
        for transport in Transport::ALL {
            let case = format!("{transport}, {asked:?}");
            let ask = |tls| ask_by_card(address, transport, tls);
            assert_eq!(
                ask(tls::client(&authority, Some(&ann))).await.unwrap().unwrap(),
                "ann",
                "{case}"
            );

            // Trusted in the handshake, but unknown to the agent.
            let refused = ask(tls::client(&authority, Some(&bob))).await.unwrap().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Unauthenticated, "{case}");
            let challenge = refused.challenge().unwrap();
            assert!(challenge.contains("MutualTLS"), "{case}: {challenge}");

            // Without one, the client fails before any request, or can't even read the card if the
            // handshake requires one.
            let without = ask(tls::client(&authority, None)).await.unwrap_err();
            match (asked, without) {
                (
                    ClientCertificates::Optional,
                    DiscoveryError::Credentials(CredentialError::Unsatisfied(why)),
                ) => assert!(why[0].contains("no client certificate"), "{case}: {why:?}"),
                (ClientCertificates::Required, DiscoveryError::Unreachable { source, .. }) => {
                    assert_eq!(source.kind(), ErrorKind::Unavailable, "{case}");
                }
                (_, other) => panic!("{case}: {other:?}"),
            }

            // A certificate of another authority is rejected in the handshake.
            let forged = ask(tls::client(&authority, Some(&unknown_client))).await.unwrap_err();
            assert!(matches!(forged, DiscoveryError::Unreachable { .. }), "{case}: {forged:?}");
        }
    }
}
