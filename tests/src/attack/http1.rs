//! Malformed, oversized and incomplete HTTP/1.1.

use std::time::Duration;

use tokio::{
    io::AsyncWriteExt as _,
    time::{Instant, timeout},
};

use super::{
    Attack, Environment, Verdict, attacks,
    environment::{JSON, bearer},
    pipe::{self, Pipe},
};

/// Timeout for a response or a close after a malformed request.
const WAIT: Duration = Duration::from_secs(3);
/// Timeout for long requests.
const LONG: Duration = Duration::from_secs(10);
/// Connections held open concurrently.
const MANY: usize = 300;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "body too big", "33 MiB announced, and 33 MiB sent" => big_body;
        "endless body", "chunks without end" => endless_body;
        "slow head", "300 connections with a trickled head" => slow_head;
        "slow body", "100 connections with a trickled body" => slow_body;
        "held bodies", "16 concurrent incomplete bodies from one address, 7 MiB each" => held_bodies;
        "silence", "300 silent connections, some half closed" => silence;
        "many connections", "1,000 connections, each closed immediately" => connections;
        "many headers", "10,000 headers, and one of 1 MiB" => headers;
        "long URL", "a path and a query of 1 MiB" => address;
        "wrong lengths", "content-length that is negative, huge, double, hexadecimal, signed" => lengths;
        "CL.TE", "a second request after the end by Transfer-Encoding" => cl_te;
        "TE.CL", "obfuscated Transfer-Encoding with Content-Length" => te_cl;
        "chunk extensions", "chunks with extensions of 1 MiB, and sizes that overflow" => chunks;
        "NUL and control bytes", "in the path, in header names and in header values" => control;
        "wrong versions", "HTTP/0.9, HTTP/9.9, HTTP/2 in plaintext by upgrade, a proxy's CONNECT" => versions;
        "trailers", "10,000 trailers, and an Authorization among them" => trailers;
        "pipelining", "500 requests on one connection, without reading" => pipelining;
        "expect", "Expect: 100-continue without a body" => expect;
    }
}

fn head(env: &Environment, rest: &str) -> Vec<u8> {
    let bearer = bearer(&env.ann);
    format!("POST / HTTP/1.1\r\nhost: localhost\r\n{bearer}{JSON}{rest}\r\n").into_bytes()
}

async fn open(env: &Environment) -> Result<Pipe, String> {
    env.pipe().await.map_err(|error| format!("failed to connect: {error}"))
}

async fn big_body(env: &Environment) -> Verdict {
    let mut announced = head(env, "content-length: 34603008\r\n");
    announced.resize(announced.len() + (33 << 20), b' ');
    let announced = env.raw(&announced, LONG).await?.rejected()?;
    let mut bytes = head(env, "transfer-encoding: chunked\r\n");
    for _ in 0..33 {
        bytes.extend_from_slice(b"100000\r\n");
        bytes.resize(bytes.len() + (1 << 20), b' ');
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    let sent = env.raw(&bytes, LONG).await?.rejected()?;
    Ok(format!("{announced}; {sent}"))
}

async fn endless_body(env: &Environment) -> Verdict {
    let mut pipe = open(env).await?;
    let start = head(env, "transfer-encoding: chunked\r\n");
    pipe.write_all(&start).await.map_err(|error| error.to_string())?;
    let mut chunk = b"10000\r\n".to_vec();
    chunk.resize(chunk.len() + (1 << 16), b'x');
    chunk.extend_from_slice(b"\r\n");
    let mut sent = 0_usize;
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end && sent < 1 << 30 {
        match timeout(WAIT, pipe.write_all(&chunk)).await {
            Ok(Ok(())) => sent += 1 << 16,
            _ => break,
        }
    }
    let mebibytes = sent >> 20;
    if mebibytes > 128 {
        return Err(format!("read {mebibytes} MiB"));
    }
    let reply = pipe::read(&mut pipe, WAIT).await;
    Ok(format!("stopped reading after {mebibytes} MiB: {}", reply.summary()))
}

/// Opens connections that keep sending a few bytes, and checks other callers.
async fn slow(env: &Environment, count: usize, start: &[u8], drops: &[u8]) -> Verdict {
    let mut pipes = Vec::new();
    for _ in 0..count {
        let mut pipe = open(env).await?;
        let _written = pipe.write_all(start).await;
        pipes.push(pipe);
    }
    for drop in drops {
        for pipe in &mut pipes {
            let _written = pipe.write_all(&[*drop]).await;
        }
    }
    let time = env.is_served().await.map_err(|why| format!("meanwhile: {why}"))?;
    Ok(format!("held {} connections, and served other callers in {time:.0?}", pipes.len()))
}

async fn slow_head(env: &Environment) -> Verdict {
    slow(env, MANY, b"POST / HTTP/1.1\r\nhost: localhost\r\nx: ", b"aaaaa").await
}

async fn slow_body(env: &Environment) -> Verdict {
    slow(env, 100, &head(env, "content-length: 100000\r\n"), b"     ").await
}

async fn held_bodies(env: &Environment) -> Verdict {
    let start = head(env, &format!("content-length: {}\r\n", 8 << 20));
    let piece = vec![b' '; 1 << 20];
    let memory = || env.process.as_ref().and_then(super::Process::memory).unwrap_or(0) >> 20;
    let before = memory();
    let mut held = Vec::new();
    for _ in 0..16 {
        // From a separate address: each address has a share of the body budget.
        let connected = pipe::connect_from([127, 0, 0, 4], env.address, env.tls.as_ref()).await;
        let mut pipe = connected.map_err(|error| format!("failed to connect: {error}"))?;
        let sending = async {
            pipe.write_all(&start).await?;
            for _ in 0..7 {
                pipe.write_all(&piece).await?;
            }
            pipe.flush().await
        };
        let _may_be_cut = timeout(LONG, sending).await;
        held.push(pipe);
    }
    let time = env.is_served().await.map_err(|why| format!("meanwhile: {why}"))?;
    let taken = memory().saturating_sub(before);
    if taken > 96 {
        return Err(format!("buffers {taken} MiB of them"));
    }
    Ok(format!("has {taken} MiB of {}, and served other callers in {time:.0?}", 16 * 7))
}

async fn silence(env: &Environment) -> Verdict {
    let mut pipes = Vec::new();
    for number in 0..MANY {
        let mut pipe = tokio::net::TcpStream::connect(env.address)
            .await
            .map_err(|error| format!("failed to connect: {error}"))?;
        if number % 2 == 0 {
            let _half = pipe.shutdown().await;
        }
        pipes.push(pipe);
    }
    let time = env.is_served().await.map_err(|why| format!("meanwhile: {why}"))?;
    Ok(format!("held {} connections, and served other callers in {time:.0?}", pipes.len()))
}

async fn connections(env: &Environment) -> Verdict {
    for _ in 0..1_000 {
        let stream = tokio::net::TcpStream::connect(env.address).await;
        drop(stream.map_err(|error| format!("failed to connect: {error}"))?);
    }
    Ok("accepted all of them".to_owned())
}

/// Sends each on a new connection, and expects a rejection.
async fn each(env: &Environment, requests: impl IntoIterator<Item = Vec<u8>>) -> Verdict {
    let mut summary = Vec::new();
    for (number, request) in requests.into_iter().enumerate() {
        let reply = env.raw(&request, WAIT).await?;
        let did = reply.rejected().map_err(|why| format!("no. {}: {why}", number + 1))?;
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

async fn headers(env: &Environment) -> Verdict {
    let many: String = (0..10_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let long = format!("x: {}\r\n", "y".repeat(1 << 20));
    each(env, [head(env, &many), head(env, &long)]).await
}

async fn address(env: &Environment) -> Verdict {
    let long = "a".repeat(1 << 20);
    each(
        env,
        ["/", "/?"].map(|start| {
            format!("GET {start}{long} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                .into_bytes()
        }),
    )
    .await
}

async fn lengths(env: &Environment) -> Verdict {
    each(
        env,
        [
            "content-length: -1\r\n",
            "content-length: 99999999999999999999999\r\n",
            "content-length: 18446744073709551615\r\n",
            "content-length: 5\r\ncontent-length: 6\r\n",
            "content-length: 0x10\r\n",
            "content-length: +5\r\n",
            "content-length: 5, 6\r\n",
        ]
        .map(|length| [head(env, length), b"{}   ".to_vec()].concat()),
    )
    .await
}

/// Sends requests that may be parsed as two: at most one response is correct.
async fn smuggles(env: &Environment, requests: impl IntoIterator<Item = String>) -> Verdict {
    let mut summary = Vec::new();
    for request in requests {
        let inner = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let bytes =
            [head(env, &request.replace("<inner>", "")), inner.as_bytes().to_vec()].concat();
        let reply = env.raw(&bytes, WAIT).await?;
        if reply.answers() > 1 {
            return Err(format!("answered {} times to {request:?}", reply.answers()));
        }
        let did = reply.rejected().map_err(|why| format!("{request:?} {why}"))?;
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

async fn cl_te(env: &Environment) -> Verdict {
    // The body ends by the empty chunk or by the length.
    smuggles(env, ["content-length: 60\r\ntransfer-encoding: chunked\r\n\r\n0\r\n".to_owned()])
        .await
}

async fn te_cl(env: &Environment) -> Verdict {
    smuggles(
        env,
        [
            "transfer-encoding: xchunked\r\ncontent-length: 4\r\n\r\nwxyz",
            "transfer-encoding: chunked, identity\r\ncontent-length: 4\r\n\r\nwxyz",
            "transfer-encoding : chunked\r\ncontent-length: 4\r\n\r\nwxyz",
            "transfer-encoding: \u{b}chunked\r\ncontent-length: 4\r\n\r\nwxyz",
            "transfer-encoding: gzip, chunked\r\ncontent-length: 4\r\n\r\nwxyz",
        ]
        .map(str::to_owned),
    )
    .await
}

async fn chunks(env: &Environment) -> Verdict {
    let start =
        |rest: String| [head(env, "transfer-encoding: chunked\r\n"), rest.into_bytes()].concat();
    each(
        env,
        [
            start(format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(1 << 20))),
            start("ffffffffffffffffff\r\n{}".to_owned()),
            start("-2\r\n{}\r\n0\r\n\r\n".to_owned()),
            start("2\r\n{}x\r\n0\r\n\r\n".to_owned()),
            start("g\r\n".to_owned()),
        ],
    )
    .await
}

async fn control(env: &Environment) -> Verdict {
    let raw = |text: &str| text.as_bytes().to_vec();
    each(
        env,
        [
            raw("GET /tasks\0 HTTP/1.1\r\nhost: localhost\r\n\r\n"),
            raw("GET /\u{7f} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
            raw("GET / HTTP/1.1\r\nhost: localhost\r\nx\0: y\r\n\r\n"),
            raw("GET / HTTP/1.1\r\nhost: localhost\r\nx: \0\r\n\r\n"),
            raw("GET / HTTP/1.1\r\nhost: localhost\r\nx: a\rb\r\n\r\n"),
            raw("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\r\n\r\n"),
        ],
    )
    .await
}

async fn versions(env: &Environment) -> Verdict {
    let raw = |text: &str| text.as_bytes().to_vec();
    each(env, [
        raw("GET /\r\n"),
        raw("GET / HTTP/9.9\r\nhost: localhost\r\n\r\n"),
        raw("GET /tasks HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n"),
        raw("CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
        raw("TRACE / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
        raw("GET http://169.254.169.254/latest/meta-data HTTP/1.1\r\nhost: 169.254.169.254\r\nconnection: close\r\n\r\n"),
    ])
    .await
}

async fn trailers(env: &Environment) -> Verdict {
    let many: String = (0..10_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let start =
        format!("POST / HTTP/1.1\r\nhost: localhost\r\n{JSON}transfer-encoding: chunked\r\n\r\n");
    let call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\"}";
    let call = format!("{:x}\r\n{call}\r\n0\r\n", call.len());
    let token = bearer(&env.ann);
    each(
        env,
        [
            format!("{start}{call}{many}\r\n").into_bytes(),
            format!("{start}{call}{token}\r\n").into_bytes(),
        ],
    )
    .await
}

async fn pipelining(env: &Environment) -> Verdict {
    let mut pipe = open(env).await?;
    let one = "GET /.well-known/agent-card.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let reply = pipe::exchange(&mut pipe, one.repeat(500).as_bytes(), WAIT).await;
    Ok(format!("answered {} before they were read", reply.answers()))
}

async fn expect(env: &Environment) -> Verdict {
    let bytes = head(env, "content-length: 1000\r\nexpect: 100-continue\r\n");
    let mut pipes = Vec::new();
    for _ in 0..100 {
        let mut pipe = open(env).await?;
        let _written = pipe.write_all(&bytes).await;
        pipes.push(pipe);
    }
    let time = env.is_served().await.map_err(|why| format!("meanwhile: {why}"))?;
    Ok(format!("holds 100 connections, and served other callers in {time:.0?}"))
}
