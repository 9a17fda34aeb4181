//! Certificates that change while a server runs, and those that can't be used.

use std::{fs, path::Path, time::Duration};

use a2a_http::tls::{ClientCertificates, Pem, TlsError, TlsSettings};
use rustls::version::TLS13;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{sleep, timeout},
};

use crate::{
    authority::{Authority, Identity},
    running::{LONG, handshake, offering, settings, shown, start},
};

fn write(directory: &Path, identity: &Identity) {
    fs::write(directory.join("server.crt"), &identity.certificate).unwrap();
    fs::write(directory.join("server.key"), &identity.key).unwrap();
}

fn in_files(directory: &Path) -> TlsSettings {
    let place = |name| Pem::file(directory.join(name));
    TlsSettings::new(place("server.crt"), place("server.key"))
}

#[tokio::test]
async fn a_new_certificate_serves_new_connections_and_a_broken_one_none() {
    let authority = Authority::new("root");
    let (first, second, third) =
        (authority.issue("1", 1), authority.issue("2", 2), authority.issue("3", 3));
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &first);
    let settings = in_files(directory.path()).with_reload_interval(Duration::from_millis(20));
    let address = start(settings.load().unwrap()).await;
    let config = offering(authority.text(), &["http/1.1"], &[&TLS13]);
    let mut old = handshake(address, &config).await.unwrap();
    assert_eq!(shown(address, &config).await, first.der);

    write(directory.path(), &second);
    let changed = async {
        while shown(address, &config).await != second.der {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, changed).await.expect("the new certificate is used");

    // A key of another certificate, no certificate, and no file: the last good pair stays.
    fs::write(directory.path().join("server.key"), &third.key).unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(address, &config).await, second.der);
    fs::write(directory.path().join("server.crt"), "nothing").unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(address, &config).await, second.der);
    fs::remove_file(directory.path().join("server.crt")).unwrap();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(shown(address, &config).await, second.der);

    write(directory.path(), &third);
    let changed = async {
        while shown(address, &config).await != third.der {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, changed).await.expect("it recovers");

    old.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    old.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "a connection that was there goes on");
}

#[tokio::test]
async fn certificates_are_read_again_when_asked() {
    let authority = Authority::new("root");
    let (first, second) = (authority.issue("1", 1), authority.issue("2", 2));
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &first);
    let tls = in_files(directory.path()).with_reload_interval(None).load().unwrap();
    let address = start(tls.clone()).await;
    let config = offering(authority.text(), &[], &[&TLS13]);
    write(directory.path(), &second);
    assert_eq!(shown(address, &config).await, first.der);
    tls.reload().unwrap();
    assert_eq!(shown(address, &config).await, second.der);
    fs::write(directory.path().join("server.key"), &first.key).unwrap();
    let error = tls.reload().unwrap_err();
    assert!(matches!(error, TlsError::Identity(_)), "{error}");
    assert_eq!(shown(address, &config).await, second.der);
}

#[test]
fn what_can_not_be_used_is_named() {
    let authority = Authority::new("root");
    let (one, two) = (authority.issue("one", 1), authority.issue("two", 2));
    let with_roots = |roots| settings(&one).with_client_roots(roots, ClientCertificates::Required);
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    for (settings, message) in [
        (
            TlsSettings::new(Pem::file("/nowhere/a.crt"), one.key()),
            "can't read the certificate in /nowhere/a.crt",
        ),
        (
            TlsSettings::new(one.certificate(), Pem::file("/nowhere/a.key")),
            "can't read the private key in /nowhere/a.key",
        ),
        (
            TlsSettings::new(one.key(), one.key()),
            "there is no certificate in what was given as one",
        ),
        (
            TlsSettings::new(one.certificate(), one.certificate()),
            "there is no private key in what was given as one",
        ),
        (TlsSettings::new(Pem::text(broken), one.key()), "the certificate is not PEM"),
        (
            TlsSettings::new(one.certificate(), two.key()),
            "the certificate and the key can't be used together",
        ),
        (with_roots(one.key()), "there is no root certificate of clients in what was given as one"),
        (
            with_roots(authority.pem()).with_revocations(authority.pem()),
            "there is no list of revocations in what was given as one",
        ),
    ] {
        assert_eq!(settings.load().unwrap_err().to_string(), message);
    }
    // One file may hold both.
    let both = Pem::text(format!("{}{}", one.key, one.certificate));
    assert!(TlsSettings::new(both.clone(), both).load().is_ok());
}
