//! Certificate reload, and invalid certificates.

use std::{fs, path::Path, time::Duration};

use a2a_kit_http::tls::{ClientCertificates, Pem, TlsError, TlsSettings};
use a2a_test_certificates::Authority;
use rustls::version::TLS13;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{sleep, timeout},
};

use crate::support::{LONG, handshake, offering, settings, shown, start};

fn in_files(directory: &Path) -> TlsSettings {
    let place = |name| Pem::file(directory.join(name));
    TlsSettings::new(place("server.crt"), place("server.key"))
}

#[tokio::test]
async fn changed_certificate_is_used_and_invalid_one_ignored() {
    let authority = Authority::new("root");
    let (first, second, third) = (
        authority.for_this_machine("1"),
        authority.for_this_machine("2"),
        authority.for_this_machine("3"),
    );
    let directory = tempfile::tempdir().unwrap();
    first.write(directory.path(), "server");
    let settings = in_files(directory.path()).with_reload_interval(Duration::from_millis(20));
    let address = start(settings.load().unwrap()).await;
    let config = offering(authority.root(), &["http/1.1"], &[&TLS13]);
    let mut old = handshake(address, &config).await.unwrap();
    assert_eq!(shown(address, &config).await, first.der);

    second.write(directory.path(), "server");
    let changed = async {
        while shown(address, &config).await != second.der {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, changed).await.expect("the new certificate is used");

    // A key of another certificate, no certificate, and no file: the last valid pair stays in use.
    fs::write(directory.path().join("server.key"), &third.key).unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(address, &config).await, second.der);
    fs::write(directory.path().join("server.crt"), "nothing").unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(address, &config).await, second.der);
    fs::remove_file(directory.path().join("server.crt")).unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(address, &config).await, second.der);

    third.write(directory.path(), "server");
    let changed = async {
        while shown(address, &config).await != third.der {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, changed).await.expect("it recovers");

    old.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut response = String::new();
    old.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "existing connections stay open");
}

#[tokio::test]
async fn reload_reads_certificates_on_demand() {
    let authority = Authority::new("root");
    let (first, second) = (authority.for_this_machine("1"), authority.for_this_machine("2"));
    let directory = tempfile::tempdir().unwrap();
    first.write(directory.path(), "server");
    let tls = in_files(directory.path()).with_reload_interval(None).load().unwrap();
    let address = start(tls.clone()).await;
    let config = offering(authority.root(), &[], &[&TLS13]);
    second.write(directory.path(), "server");
    assert_eq!(shown(address, &config).await, first.der);
    tls.reload().unwrap();
    assert_eq!(shown(address, &config).await, second.der);
    fs::write(directory.path().join("server.key"), &first.key).unwrap();
    let error = tls.reload().unwrap_err();
    assert!(matches!(error, TlsError::Identity(_)), "{error}");
    assert_eq!(shown(address, &config).await, second.der);
}

#[test]
fn load_error_names_the_invalid_setting() {
    let authority = Authority::new("root");
    let (one, two) = (authority.for_this_machine("one"), authority.for_this_machine("two"));
    let with_roots = |roots| settings(&one).with_client_roots(roots, ClientCertificates::Required);
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    for (settings, message) in [
        (
            TlsSettings::new(Pem::file("/nowhere/a.crt"), Pem::text(&one.key)),
            "failed to read certificate from /nowhere/a.crt",
        ),
        (
            TlsSettings::new(Pem::text(&one.certificate), Pem::file("/nowhere/a.key")),
            "failed to read private key from /nowhere/a.key",
        ),
        (
            TlsSettings::new(Pem::text(&one.key), Pem::text(&one.key)),
            "no certificate found in the PEM text",
        ),
        (
            TlsSettings::new(Pem::text(&one.certificate), Pem::text(&one.certificate)),
            "no private key found in the PEM text",
        ),
        (TlsSettings::new(Pem::text(broken), Pem::text(&one.key)), "certificate is not valid PEM"),
        (
            TlsSettings::new(Pem::text(&one.certificate), Pem::text(&two.key)),
            "certificate and private key do not match, or the key type is unsupported",
        ),
        (with_roots(Pem::text(&one.key)), "no client root certificate found in the PEM text"),
        (
            with_roots(Pem::text(authority.root())).with_revocations(Pem::text(authority.root())),
            "no certificate revocation list found in the PEM text",
        ),
    ] {
        assert_eq!(settings.load().unwrap_err().to_string(), message);
    }
    // One file may contain both.
    let both = Pem::text(format!("{}{}", one.key, one.certificate));
    assert!(TlsSettings::new(both.clone(), both).load().is_ok());
}
