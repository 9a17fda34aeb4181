//! Whom a client trusts, and whom a server lets in by certificate.

use a2a_core::ErrorKind;
use a2a_http::tls::{ClientCertificates, ClientTls, Pem, TlsError};
use a2a_test_certificates::{Authority, Identity};

use crate::running::{ask, settings, start, trusting};

//
#[tokio::test]
async fn a_client_does_not_speak_to_a_server_that_nobody_vouches_for() {
    let (authority, other) = (Authority::new("root"), Authority::new("other"));
    let address = start(settings(&authority.for_this_machine("server")).load().unwrap()).await;
    for (tls, who) in [(ClientTls::new(), "the platform"), (trusting(&other), "another root")] {
        let error = ask(address, tls).await.expect_err(who);
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{who}");
    }
    let both = trusting(&other).with_more_roots(&Pem::text(authority.root())).unwrap();
    let beside = ClientTls::new().with_more_roots(&Pem::text(authority.root())).unwrap();
    let anybody = ClientTls::new().without_verification();
    for tls in [both, beside, trusting(&authority), anybody] {
        assert_eq!(ask(address, tls).await.unwrap().status(), 200);
    }
}

fn by(authority: &Authority, identity: &Identity) -> ClientTls {
    trusting(authority)
        .with_identity(&Pem::text(&identity.certificate), &Pem::text(&identity.key))
        .unwrap()
}

#[tokio::test]
async fn a_server_asks_for_certificates_and_hands_on_whose_they_are() {
    use ClientCertificates::{Optional, Required};
    let (authority, other) = (Authority::new("root"), Authority::new("other"));
    let server = authority.for_this_machine("server");
    let (client, revoked) =
        (authority.for_this_machine("client"), authority.for_this_machine("revoked"));
    let stranger = other.for_this_machine("stranger");
    for required in [Required, Optional] {
        let settings = settings(&server)
            .with_client_roots(Pem::text(authority.root()), required)
            .with_revocations(Pem::text(authority.revoked(&revoked)));
        let address = start(settings.load().unwrap()).await;

        let answer = ask(address, by(&authority, &client)).await.unwrap();
        assert_eq!(*answer.body(), format!("HTTP/2.0 {}", client.der.len()));
        for (identity, who) in [(&stranger, "of another root"), (&revoked, "revoked")] {
            assert!(ask(address, by(&authority, identity)).await.is_err(), "{who}");
        }
        match (required, ask(address, trusting(&authority)).await) {
            (Optional, Ok(answer)) => assert_eq!(answer.body(), "HTTP/2.0 0"),
            (_, answer) => assert!(required == Required && answer.is_err(), "{answer:?}"),
        }
    }
}

#[test]
fn what_a_client_is_given_is_looked_at_at_once() {
    let authority = Authority::new("root");
    let (one, two) = (authority.for_this_machine("one"), authority.for_this_machine("two"));
    let new = ClientTls::new;
    let error =
        new().with_identity(&Pem::text(&one.certificate), &Pem::text(&two.key)).unwrap_err();
    assert!(matches!(error, TlsError::Identity(_)), "{error}");
    let error = new().with_identity(&Pem::text(&one.key), &Pem::text(&one.key)).unwrap_err();
    assert!(matches!(error, TlsError::Missing("certificate")), "{error}");
    let error = new().with_roots(&Pem::text("")).unwrap_err();
    assert!(matches!(error, TlsError::Missing("root certificate")), "{error}");
    let error = new().with_roots(&Pem::file("/nowhere/ca.pem")).unwrap_err();
    assert!(error.to_string().ends_with("root certificate in /nowhere/ca.pem"), "{error}");
}

#[test]
fn nothing_prints_a_key() {
    let authority = Authority::new("root");
    let one = authority.for_this_machine("one");
    let settings = settings(&one);
    let tls = settings.clone().load().unwrap();
    let client = by(&authority, &one);
    for text in [format!("{settings:?}"), format!("{tls:?}"), format!("{client:?}")] {
        assert!(!text.contains("PRIVATE") && !text.contains(&one.key[40..60]), "{text}");
    }
}
