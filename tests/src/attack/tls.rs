//! Malformed TLS. Does not apply to plaintext servers.

use std::{sync::Arc, time::Duration};

use a2a_test_certificates::Identity;
use rustls::{
    ClientConfig,
    pki_types::{PrivateKeyDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
};
use tokio_rustls::TlsConnector;

use super::{
    Attack, Environment, Verdict, attacks,
    pipe::{self, Pipe},
    renegotiation::renegotiation,
};

pub(super) const WAIT: Duration = Duration::from_secs(3);

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "plain HTTP", "plaintext requests with a token to a TLS port" => plain;
        "old versions", "hellos of SSL 3.0, TLS 1.0 and TLS 1.1" => versions;
        "weak ciphers", "a hello of TLS 1.2 with RC4, 3DES, export and NULL ciphers" => ciphers;
        "stalled handshakes", "600 incomplete hellos from one address" => stalls;
        "renegotiation", "1,000 more handshakes of TLS 1.2 on one connection" => renegotiation;
        "no server name", "a handshake without SNI, and with a foreign one" => names;
        "wrong protocol", "unknown ALPN" => protocols;
        "self-signed client", "an unrequested or self-signed client certificate" => client;
        "garbage", "random records, long records, alerts, heartbeats" => garbage;
        "foreign certificate", "a client that trusts another authority does not connect" => distrust;
    }
}

pub(super) async fn tcp(env: &Environment) -> Result<TcpStream, String> {
    TcpStream::connect(env.address).await.map_err(|error| format!("failed to connect: {error}"))
}

pub(super) const CLEAR: &str = "is a server in plaintext: nothing to try";

async fn plain(env: &Environment) -> Verdict {
    if env.tls.is_none() {
        return Ok(CLEAR.to_owned());
    }
    let mut summary = Vec::new();
    for line in ["POST /", "GET /healthz", "GET /.well-known/agent-card.json"] {
        let mut pipe: Pipe = Box::new(tcp(env).await?);
        let request = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: 0\r\n\r\n",
            env.ann
        );
        let reply = pipe::exchange(&mut pipe, request.as_bytes(), WAIT).await;
        if reply.status().is_some_and(|status| status < 300) {
            return Err(format!("answered in plaintext: {}", reply.summary()));
        }
        summary.push(reply.summary());
    }
    summary.dedup();
    Ok(summary.join(", "))
}

/// A hello of a version before 1.3, without extensions.
pub(super) fn hello(version: [u8; 2], ciphers: &[[u8; 2]]) -> Vec<u8> {
    let mut body = version.to_vec();
    body.extend_from_slice(&[7; 32]);
    body.push(0);
    let length = u16::try_from(ciphers.len() * 2).unwrap_or(0);
    body.extend_from_slice(&length.to_be_bytes());
    ciphers.iter().for_each(|cipher| body.extend_from_slice(cipher));
    body.extend_from_slice(&[1, 0]);
    let length = u32::try_from(body.len()).unwrap_or(0).to_be_bytes();
    let message = [&[1, length[1], length[2], length[3]][..], &body].concat();
    let length = u16::try_from(message.len()).unwrap_or(0).to_be_bytes();
    [&[22, 3, version[1].min(1), length[0], length[1]][..], &message].concat()
}

/// Sends bytes instead of a handshake: there must be no hello of the server in return.
async fn no_hello(env: &Environment, tries: Vec<Vec<u8>>) -> Verdict {
    if env.tls.is_none() {
        return Ok(CLEAR.to_owned());
    }
    let mut summary = Vec::new();
    for (number, bytes) in tries.into_iter().enumerate() {
        let mut pipe: Pipe = Box::new(tcp(env).await?);
        let reply = pipe::exchange(&mut pipe, &bytes, WAIT).await;
        let did = match reply.bytes.first() {
            Some(22) => return Err(format!("no. {}: continues the handshake", number + 1)),
            Some(21) => format!("alert {}", reply.bytes.get(6).copied().unwrap_or_default()),
            _ => reply.summary(),
        };
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

pub(super) const GOOD: [[u8; 2]; 3] = [[0xc0, 0x2f], [0xc0, 0x2b], [0xc0, 0x13]];

async fn versions(env: &Environment) -> Verdict {
    no_hello(env, [[3, 0], [3, 1], [3, 2]].map(|version| hello(version, &GOOD)).to_vec()).await
}

async fn ciphers(env: &Environment) -> Verdict {
    let weak = [[0, 5], [0, 0x0a], [0, 3], [0, 0], [0, 0x2f], [0xc0, 0x11]];
    no_hello(env, vec![hello([3, 3], &weak), hello([3, 3], &[])]).await
}

async fn stalls(env: &Environment) -> Verdict {
    if env.tls.is_none() {
        return Ok(CLEAR.to_owned());
    }
    let start = hello([3, 3], &GOOD);
    let mut streams = Vec::new();
    for _ in 0..600 {
        // From a separate address: each address has a share of the handshakes.
        let socket = TcpSocket::new_v4().map_err(|error| error.to_string())?;
        socket.bind(([127, 0, 0, 3], 0).into()).map_err(|error| error.to_string())?;
        let connected = socket.connect(env.address).await;
        let mut stream = connected.map_err(|error| format!("failed to connect: {error}"))?;
        let _written = stream.write_all(&start[..start.len() / 2]).await;
        streams.push(stream);
    }
    let time = env.is_served().await.map_err(|why| format!("meanwhile: {why}"))?;
    Ok(format!("held {}, and served other callers in {time:.0?}", streams.len()))
}

/// Makes a handshake, and returns whether it succeeded.
async fn handshake(env: &Environment, config: ClientConfig, name: &str) -> Result<bool, String> {
    let connector = TlsConnector::from(Arc::new(config));
    let name = ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
    let connected = tokio::time::timeout(WAIT, connector.connect(name, tcp(env).await?)).await;
    let Ok(Ok(stream)) = connected else { return Ok(false) };
    // Errors of the client certificate are reported after the client's handshake.
    let mut pipe: Pipe = Box::new(stream);
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let reply = pipe::exchange(&mut pipe, request, WAIT).await;
    Ok(reply.status() == Some(200))
}

async fn names(env: &Environment) -> Verdict {
    let Some(tls) = &env.tls else { return Ok(CLEAR.to_owned()) };
    let mut config = ClientConfig::clone(tls);
    config.enable_sni = false;
    let without = handshake(env, config, "localhost").await?;
    let other = handshake(env, ClientConfig::clone(tls), "evil.test").await?;
    if other {
        return Err("has a certificate for a foreign name".to_owned());
    }
    Ok(format!("served without one: {without}; has no certificate for another"))
}

async fn protocols(env: &Environment) -> Verdict {
    let Some(tls) = &env.tls else { return Ok(CLEAR.to_owned()) };
    let mut config = ClientConfig::clone(tls);
    config.alpn_protocols = vec![b"smtp".to_vec(), b"h3".to_vec(), vec![b'x'; 255]];
    match handshake(env, config, "localhost").await? {
        true => Err("accepts an unknown protocol".to_owned()),
        false => Ok("ended the handshake".to_owned()),
    }
}

async fn client(env: &Environment) -> Verdict {
    let Some(tls) = &env.tls else { return Ok(CLEAR.to_owned()) };
    let made = Identity::self_signed("ann");
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).map_err(|e| e.to_string())?;
    let signer = rustls::crypto::ring::sign::any_supported_type(&key).map_err(|e| e.to_string())?;
    let certified = rustls::sign::CertifiedKey::new(vec![made.der.into()], signer);
    let mut config = ClientConfig::clone(tls);
    config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(certified));
    let connector = TlsConnector::from(Arc::new(config));
    let name = ServerName::try_from("localhost").map_err(|error| error.to_string())?;
    let Ok(stream) = connector.connect(name, tcp(env).await?).await else {
        return Ok("ended the handshake".to_owned());
    };
    let mut pipe: Pipe = Box::new(stream);
    let request =
        b"GET /tasks HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n";
    let reply = pipe::exchange(&mut pipe, request, WAIT).await;
    reply.rejected()
}

async fn garbage(env: &Environment) -> Verdict {
    let random: Vec<u8> = (0..20_000_u32).map(|number| number.to_le_bytes()[0] ^ 0xa7).collect();
    no_hello(
        env,
        vec![
            random,
            [&[22, 3, 1, 0xff, 0xff][..], &[0; 70_000]].concat(),
            [21, 3, 3, 0, 2, 2, 40].to_vec(),
            [24, 3, 3, 0, 3, 1, 0xff, 0xff].to_vec(),
            [23, 3, 3, 0, 4, 1, 2, 3, 4].to_vec(),
            // A hello continued in empty records.
            [22, 3, 1, 0, 0].repeat(10_000),
            // A hello with a length of 16 MiB.
            [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], &[0; 16_380]].concat(),
        ],
    )
    .await
}

async fn distrust(env: &Environment) -> Verdict {
    if env.tls.is_none() {
        return Ok(CLEAR.to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    match handshake(env, config, "localhost").await? {
        true => Err("was trusted by a client without trust anchors".to_owned()),
        false => Ok("was not trusted".to_owned()),
    }
}
