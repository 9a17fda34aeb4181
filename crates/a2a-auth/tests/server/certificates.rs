//! Callers who prove with a certificate who they are, over real TLS.

use std::net::SocketAddr;

use a2a::{
    Client, ErrorKind,
    client::{ClientSettings, RetryPolicy, Transport},
    http::tls::{ClientCertificates, ClientTls, Pem, TlsSettings},
    operations::Caller,
};
use a2a_auth::server::{ApiKeys, Certificates, Guard};
use a2a_core::v1::{MutualTlsSecurityScheme, security_scheme::Scheme};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType,
    date_time_ymd,
};
use ring::digest;

use crate::scene::{api_key, card, requirement, serve, server};

/// A root, and what it vouches for.
struct Authority(Issuer<'static, KeyPair>, Pem);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = Pem::text(params.self_signed(&key).unwrap().pem());
        Self(Issuer::new(params, key), pem)
    }

    fn issue(&self, params: CertificateParams) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    /// A client that trusts this root, and has a certificate of it.
    fn client(&self, certified: Option<&(Certificate, KeyPair)>) -> ClientTls {
        let tls = ClientTls::new().with_roots(&self.1).unwrap();
        match certified {
            None => tls,
            Some((certificate, key)) => tls
                .with_identity(&Pem::text(certificate.pem()), &Pem::text(key.serialize_pem()))
                .unwrap(),
        }
    }
}

/// A certificate's subject, from the outside in, and its alternative names.
fn named(name: &str, alternative: Vec<SanType>) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
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
) -> a2a::core::Result<String> {
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
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = authority.issue(params);
    let settings = TlsSettings::new(Pem::text(certificate.pem()), Pem::text(key.serialize_pem()))
        .with_client_roots(authority.1.clone(), ClientCertificates::Optional);
    let mutual = Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default());
    let card = card(
        &[("mtls", mutual), ("key", api_key("header", "x-key"))],
        &[requirement(&[("mtls", &[])]), requirement(&[("key", &[])])],
    );
    let keys = ApiKeys::new().with_key("secret", Caller::authenticated("keyed"));
    let guard = Guard::new().with_verifier("mtls", certificates).with_verifier("key", keys);
    serve(server(card).with_tls(settings.load().unwrap()).with_auth(guard)).await
}

//
#[tokio::test]
async fn a_certificate_names_its_caller_by_what_is_known_of_it() {
    let authority = Authority::new();
    let by_uri = authority.issue(named("x", vec![uri("spiffe://example/ann")]));
    let by_dns = authority.issue(named("x", vec![dns("Bob.example")]));
    let by_subject = authority.issue(named("cy", vec![]));
    let by_hash = authority.issue(named("x", vec![uri("spiffe://example/ann")]));
    let fingerprint = digest::digest(&digest::SHA256, by_hash.0.der());
    let fingerprint: Vec<_> =
        fingerprint.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    let stranger = authority.issue(named("dan", vec![uri("spiffe://example/dan")]));
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
            let answer = ask(address, transport, authority.client(Some(certified)), None).await;
            assert_eq!(answer.unwrap(), name, "{transport}");
        }
        for certified in [Some(&stranger), None] {
            let refused = ask(address, transport, authority.client(certified), None).await;
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{transport}");
            let challenge = error.challenge().unwrap();
            assert!(challenge.contains("MutualTLS realm=\"a2a\""), "{transport}: {challenge}");
            let keyed = ask(address, transport, authority.client(certified), Some("secret")).await;
            assert_eq!(keyed.unwrap(), "keyed", "{transport}");
        }
    }
}

#[tokio::test]
async fn whoever_tls_lets_in_can_be_called_by_their_certificate() {
    let authority = Authority::new();
    let address = start(&authority, Certificates::new().with_any()).await;
    for (params, name) in [
        (named("ann", vec![uri("spiffe://example/ann")]), "x509#spiffe://example/ann"),
        (named("bob", vec![dns("bob.example")]), "x509#CN=bob,O=Example"),
    ] {
        let certified = authority.issue(params);
        let tls = authority.client(Some(&certified));
        assert_eq!(ask(address, Transport::Grpc, tls, None).await.unwrap(), name);
    }
    let mut expired = named("old", vec![]);
    expired.not_before = date_time_ymd(2001, 1, 1);
    expired.not_after = date_time_ymd(2002, 1, 1);
    let expired = authority.issue(expired);
    let builder = Client::builder().only([Transport::JsonRpc]).retry(RetryPolicy::NEVER);
    let tls = authority.client(Some(&expired));
    let builder = builder.http(ClientSettings::default().with_tls(tls));
    let refused = builder.connect(&format!("https://{address}")).await;
    assert!(refused.is_err(), "the handshake fails");
}
