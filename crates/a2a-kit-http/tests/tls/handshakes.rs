//! Negotiation of TLS versions and ALPN, and limits of handshakes.

use std::time::Duration;

use a2a_kit_http::tls::{ClientCertificates, Pem};
use a2a_test_certificates::Authority;
use rustls::{
    HandshakeKind, ProtocolVersion,
    version::{TLS12, TLS13},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::support::{LONG, get, handshake, offering, settings, start, trusting};

//
//
#[tokio::test]
async fn http1_and_http2_are_negotiated_on_one_port() {
    let authority = Authority::new("root");
    let address = start(settings(&authority.for_this_machine("server")).load().unwrap()).await;
    for (offered, agreed) in [
        (&["h2", "http/1.1"][..], Some("h2")),
        (&["http/1.1", "h2"], Some("h2")),
        (&["http/1.1"], Some("http/1.1")),
        (&[], None),
    ] {
        let config = offering(authority.root(), offered, &[&TLS13, &TLS12]);
        let stream = handshake(address, &config).await.unwrap();
        let found = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        assert_eq!(found.as_deref(), agreed.map(str::as_bytes), "{offered:?}");
    }
    // Without a common protocol the handshake fails.
    let config = offering(authority.root(), &["smtp"], &[&TLS13]);
    assert!(handshake(address, &config).await.is_err());

    let response = get(address, trusting(&authority)).await.unwrap();
    assert_eq!(response.body(), "HTTP/2.0 0");
    let config = offering(authority.root(), &["http/1.1"], &[&TLS13]);
    let mut stream = handshake(address, &config).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.ends_with("HTTP/1.1 0"), "{response}");
}

//
#[tokio::test]
async fn tls_1_3_is_preferred_and_1_2_accepted_unless_disabled() {
    let authority = Authority::new("root");
    let identity = authority.for_this_machine("server");
    let address = start(settings(&identity).load().unwrap()).await;
    for (versions, agreed) in [
        (&[&TLS12, &TLS13][..], ProtocolVersion::TLSv1_3),
        (&[&TLS13], ProtocolVersion::TLSv1_3),
        (&[&TLS12], ProtocolVersion::TLSv1_2),
    ] {
        let config = offering(authority.root(), &[], versions);
        let stream = handshake(address, &config).await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(agreed));
    }
    let strict = start(settings(&identity).with_only_tls13(true).load().unwrap()).await;
    assert!(handshake(strict, &offering(authority.root(), &[], &[&TLS12])).await.is_err());
    assert!(handshake(strict, &offering(authority.root(), &[], &[&TLS13])).await.is_ok());
}

/// The ClientHello of a client whose latest version is `version`.
fn hello(version: [u8; 2]) -> Vec<u8> {
    let mut body = version.to_vec();
    body.extend([7; 32]); // random
    body.push(0); // no session
    body.extend([0, 4, 0xc0, 0x13, 0xc0, 0x2f]); // two suites
    body.extend([1, 0]); // no compression
    body.extend([0, 8, 0, 13, 0, 4, 0, 2, 4, 3]); // one signature algorithm
    let mut message = vec![1, 0, 0, u8::try_from(body.len()).unwrap()];
    message.extend(body);
    let mut record = vec![22, 3, 1, 0, u8::try_from(message.len()).unwrap()];
    record.extend(message);
    record
}

//
#[tokio::test]
async fn versions_before_tls_1_2_get_an_alert() {
    let authority = Authority::new("root");
    let address = start(settings(&authority.for_this_machine("server")).load().unwrap()).await;
    for (name, version) in [("SSL 3.0", [3, 0]), ("TLS 1.0", [3, 1]), ("TLS 1.1", [3, 2])] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&hello(version)).await.unwrap();
        let mut response = [0; 7];
        timeout(LONG, stream.read_exact(&mut response)).await.expect(name).expect(name);
        // An alert, fatal, protocol_version (RFC 8446 §6).
        assert_eq!((response[0], response[5], response[6]), (21, 2, 70), "{name}: {response:?}");
    }
}

#[tokio::test]
async fn sessions_are_resumed_unless_client_certificates_are_requested() {
    let authority = Authority::new("root");
    let identity = authority.for_this_machine("server");
    let with_client_auth = settings(&identity)
        .with_client_roots(Pem::text(authority.root()), ClientCertificates::Optional);
    for (settings, second) in
        [(settings(&identity), HandshakeKind::Resumed), (with_client_auth, HandshakeKind::Full)]
    {
        let address = start(settings.load().unwrap()).await;
        let config = offering(authority.root(), &["http/1.1"], &[&TLS13]);
        for expected in [HandshakeKind::Full, second] {
            let mut stream = handshake(address, &config).await.unwrap();
            // The server sends tickets with the first response.
            stream
                .write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                .await
                .unwrap();
            stream.read_to_end(&mut Vec::new()).await.unwrap();
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(expected));
        }
    }
}

#[tokio::test]
async fn plaintext_request_gets_400_with_a_hint() {
    let authority = Authority::new("root");
    let address = start(settings(&authority.for_this_machine("server")).load().unwrap()).await;
    for request in ["GET / HTTP/1.1\r\nhost: a\r\n\r\n", "POST / HTTP/1.1\r\n\r\n{}"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        timeout(LONG, stream.read_to_string(&mut response)).await.unwrap().unwrap();
        assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
        assert!(response.contains("https://"), "{response}");
    }
}

#[tokio::test]
async fn incomplete_handshake_times_out_without_delaying_others() {
    let authority = Authority::new("root");
    let settings = settings(&authority.for_this_machine("server"))
        .with_max_handshakes(8)
        .with_handshake_timeout(Duration::from_secs(3));
    let address = start(settings.load().unwrap()).await;
    let client_hello = hello([3, 3]);
    let mut stalled = Vec::new();
    for sent in [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&client_hello[..sent]).await.unwrap();
        stalled.push(stream);
    }
    // The address is limited to two handshakes, which have started, so its third is closed. A
    // connection without data does not count.
    let config = offering(authority.root(), &["http/1.1"], &[&TLS13]);
    assert!(timeout(LONG, handshake(address, &config)).await.unwrap().is_err());
    for mut stream in stalled {
        let end = timeout(LONG, stream.read(&mut [0; 64])).await.expect("the connection is closed");
        assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    }
    let response = get(address, trusting(&authority)).await.unwrap();
    assert_eq!(response.body(), "HTTP/2.0 0");
}

//
#[tokio::test]
async fn hsts_header_is_sent_unless_disabled() {
    let authority = Authority::new("root");
    let identity = authority.for_this_machine("server");
    for (settings, expected) in [
        (settings(&identity), Some("max-age=31536000")),
        (settings(&identity).with_hsts(Duration::from_secs(60)), Some("max-age=60")),
        (settings(&identity).with_hsts(None), None),
    ] {
        let address = start(settings.load().unwrap()).await;
        let response = get(address, trusting(&authority)).await.unwrap();
        let header = response.headers().get("strict-transport-security");
        assert_eq!(header.map(|value| value.to_str().unwrap()), expected);
    }
}
