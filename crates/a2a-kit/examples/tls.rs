//! cargo run -p a2a-kit --features auth --example tls
//!
//! TLS, and callers that authenticate with client certificates (mutual TLS). The certificates are
//! issued here; `Pem::file` reads your own, and reloads them when they change.

#![allow(clippy::print_stdout, reason = "examples print")]

use a2a_kit::{
    AgentCard, Client, Engine, Server, agent_fn,
    auth::server::{Certificates, Guard},
    client::ClientSettings,
    http::tls::{ClientCertificates, ClientTls, Pem, TlsSettings},
    v1::SecurityScheme,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let root = Pem::text(authority.pem());

    let (certificate, key) = issue(&authority)?;
    let tls = TlsSettings::new(certificate, key)
        .with_client_roots(root.clone(), ClientCertificates::Optional)
        .load()?;
    let card = AgentCard::new("Vault", "Knows a secret")
        .with_security_scheme("certificate", SecurityScheme::mutual_tls())
        .requiring("certificate");
    let engine = Engine::new(card, agent_fn(async |_: String| "The answer is 42"));
    let guard = Guard::new().with_verifier("certificate", Certificates::new().with_any());
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("https://{}", listener.local_addr()?);
    let server = Server::from(engine).with_tls(tls).with_auth(guard);
    tokio::spawn(server.serve(listener, std::future::pending()));

    let trusting = ClientTls::new().with_roots(&root)?;
    let (certificate, key) = issue(&authority)?;
    let certified = trusting.clone().with_identity(&certificate, &key)?;
    for (name, tls) in [("without a certificate", trusting), ("with a certificate", certified)] {
        let settings = ClientSettings::default().with_tls(tls);
        let answer = match Client::builder().http(settings).connect(&url).await {
            Ok(client) => client.send_text("What is it?").await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        println!("{name}: {answer:?}");
    }
    Ok(())
}

/// Issues a certificate for this machine, and returns it with its key.
fn issue(authority: &CertifiedIssuer<'_, KeyPair>) -> Result<(Pem, Pem), rcgen::Error> {
    let key = KeyPair::generate()?;
    let params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((Pem::text(certificate.pem()), Pem::text(key.serialize_pem())))
}
