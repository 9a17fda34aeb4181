//! Server certificates that a client trusts, and client certificates that a server accepts.

use a2a_core::ErrorKind;
use a2a_kit_http::tls::{ClientCertificates, ClientTls, Pem, TlsError};
use a2a_test_certificates::{Authority, Identity};

use crate::support::{get, settings, start, trusting};

//
#[tokio::test]
async fn client_rejects_server_certificates_of_untrusted_roots() {
    let (authority, other) = (Authority::new("root"), Authority::new("other"));
    let address = start(settings(&authority.for_this_machine("server")).load().unwrap()).await;
    for (tls, case) in [(ClientTls::new(), "the platform"), (trusting(&other), "another root")] {
        let error = get(address, tls).await.expect_err(case);
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{case}");
    }
    let both = trusting(&other).with_more_roots(&Pem::text(authority.root())).unwrap();
    let added = ClientTls::new().with_more_roots(&Pem::text(authority.root())).unwrap();
    let unverified = ClientTls::new().without_verification();
    for tls in [both, added, trusting(&authority), unverified] {
        assert_eq!(get(address, tls).await.unwrap().status(), 200);
    }
}

fn with_identity_of(authority: &Authority, identity: &Identity) -> ClientTls {
    trusting(authority)
        .with_identity(&Pem::text(&identity.certificate), &Pem::text(&identity.key))
        .unwrap()
}

#[tokio::test]
async fn client_certificates_are_verified_and_passed_to_handlers() {
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

        let response = get(address, with_identity_of(&authority, &client)).await.unwrap();
        assert_eq!(*response.body(), format!("HTTP/2.0 {}", client.der.len()));
        for (identity, who) in [(&stranger, "of another root"), (&revoked, "revoked")] {
            assert!(get(address, with_identity_of(&authority, identity)).await.is_err(), "{who}");
        }
        match (required, get(address, trusting(&authority)).await) {
            (Optional, Ok(response)) => assert_eq!(response.body(), "HTTP/2.0 0"),
            (_, response) => assert!(required == Required && response.is_err(), "{response:?}"),
        }
    }
}

#[test]
fn invalid_client_certificates_and_roots_are_rejected_on_load() {
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
    assert!(error.to_string().ends_with("root certificate from /nowhere/ca.pem"), "{error}");
}

#[test]
fn debug_output_contains_no_private_key() {
    let authority = Authority::new("root");
    let one = authority.for_this_machine("one");
    let settings = settings(&one);
    let tls = settings.clone().load().unwrap();
    let client = with_identity_of(&authority, &one);
    for text in [format!("{settings:?}"), format!("{tls:?}"), format!("{client:?}")] {
        assert!(!text.contains("PRIVATE") && !text.contains(&one.key[40..60]), "{text}");
    }
}
