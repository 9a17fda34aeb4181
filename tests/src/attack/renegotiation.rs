//! TLS 1.2 renegotiation (RFC 5246 §7.4.1.1), of which each attempt costs the server a signature.
//!
//! rustls never sends it. So it performs the first handshake and exports the keys, and the records
//! afterwards are written here.

use std::{io, sync::Arc};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use rustls::{
    ClientConfig, ConnectionTrafficSecrets,
    crypto::{CryptoProvider, ring::cipher_suite},
    pki_types::ServerName,
    version::TLS12,
};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};
use tokio_rustls::TlsConnector;

use super::{
    Environment, Verdict,
    pipe::{self, Pipe, Reply},
    tls::{CLEAR, GOOD, WAIT, hello, tcp},
};

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// Number of attempts.
const TIMES: usize = 1_000;

pub(super) async fn renegotiation(env: &Environment) -> Verdict {
    if env.tls.is_none() {
        return Ok(CLEAR.to_owned());
    }
    let output = |error: &dyn std::error::Error| format!("can't be described: {error}");
    // The request proves that records written here are read.
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (mut stream, mut records) = connect(env).await.map_err(|error| output(&error))?;
    let plain = records.write(DATA, request).map_err(|error| output(&error))?;
    stream.write_all(&plain).await.map_err(|error| output(&error))?;
    let mut pipe: Pipe = Box::new(stream);
    let answered = kinds(&pipe::read(&mut pipe, WAIT).await);
    if answered.is_empty() || answered.iter().any(|kind| *kind != DATA) {
        return Err("raw records are not read".to_owned());
    }

    // A hello is the message without the record header.
    let hello = &hello([3, 3], &GOOD)[5..];
    let mut asked = Vec::new();
    for _ in 0..TIMES {
        asked.extend(records.write(HANDSHAKE, hello).map_err(|error| output(&error))?);
    }
    let reply = pipe::exchange(&mut pipe, &asked, WAIT).await;
    let kinds = kinds(&reply);
    if kinds.contains(&HANDSHAKE) {
        return Err("starts another handshake".to_owned());
    }
    let alerts = kinds.iter().filter(|kind| **kind == ALERT).count();
    match reply.closed {
        true => Ok(format!("{alerts} alerts, and closed the connection")),
        false => Err(format!("accepts {TIMES} of them: {alerts} alerts")),
    }
}

/// The types of the received records, which TLS 1.2 does not encrypt.
fn kinds(reply: &Reply) -> Vec<u8> {
    let mut kinds = Vec::new();
    let mut left = &reply.bytes[..];
    while let [kind, _, _, high, low, rest @ ..] = left {
        kinds.push(*kind);
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        left = rest.get(length..).unwrap_or_default();
    }
    kinds
}

/// Makes a TLS 1.2 handshake, and continues with the raw connection.
async fn connect(env: &Environment) -> io::Result<(TcpStream, Records)> {
    let provider = CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ],
        ..rustls::crypto::ring::default_provider()
    };
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS12])
        .map_err(io::Error::other)?
        .with_root_certificates(Arc::clone(&env.roots))
        .with_no_client_auth();
    config.enable_secret_extraction = true;
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    let connector = TlsConnector::from(Arc::new(config));
    let stream = connector.connect(name, tcp(env).await.map_err(io::Error::other)?).await?;
    let (stream, session) = stream.into_inner();
    let (number, secrets) = session.dangerous_extract_secrets().map_err(io::Error::other)?.tx;
    let ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } = secrets else {
        return Err(io::Error::other("another cipher than offered"));
    };
    let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_ref())
        .map_err(|error| io::Error::other(error.to_string()))?;
    let iv = iv.as_ref().try_into().map_err(io::Error::other)?;
    Ok((stream, Records { key: LessSafeKey::new(key), iv, number }))
}

/// Writes TLS 1.2 records (RFC 7905).
struct Records {
    key: LessSafeKey,
    iv: [u8; 12],
    number: u64,
}

impl Records {
    fn write(&mut self, kind: u8, text: &[u8]) -> io::Result<Vec<u8>> {
        let number = self.number.to_be_bytes();
        self.number += 1;
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[4..].iter_mut().zip(number) {
            *byte ^= of_number;
        }
        let length = |bytes: usize| u16::try_from(bytes).map_err(io::Error::other);
        let [high, low] = length(text.len())?.to_be_bytes();
        let beside = [&number[..], &[kind, 3, 3, high, low]].concat();
        let mut sealed = text.to_vec();
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(beside),
                &mut sealed,
            )
            .map_err(|error| io::Error::other(error.to_string()))?;
        let [high, low] = length(sealed.len())?.to_be_bytes();
        Ok([&[kind, 3, 3, high, low][..], &sealed].concat())
    }
}
