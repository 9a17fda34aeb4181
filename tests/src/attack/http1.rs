//! Bytes that are nearly HTTP/1.1, or too many, or too few.

use std::time::Duration;

use tokio::{
    io::AsyncWriteExt as _,
    time::{Instant, timeout},
};

use super::{
    Attack, Scene, Verdict, attacks,
    pipe::{self, Pipe},
    scene::{JSON, bearer},
};

/// How long a server may take to answer or to hang up on what can't be a request.
const WAIT: Duration = Duration::from_secs(3);
/// How long it may take to read what is long.
const LONG: Duration = Duration::from_secs(10);
/// Connections that are held open at a time.
const MANY: usize = 300;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "body too big", "33 MiB announced, and 33 MiB sent" => big_body;
        "endless body", "chunks without end" => endless_body;
        "slow head", "300 connections that send a byte of their head now and then" => slow_head;
        "slow body", "100 connections that send a byte of their body now and then" => slow_body;
        "held bodies", "16 bodies from one address at a time, 7 MiB of each, and no end" => held_bodies;
        "silence", "300 connections that say nothing, some half closed" => silence;
        "many connections", "1,000 connections, each closed at once" => connections;
        "many headers", "10,000 headers, and one of 1 MiB" => headers;
        "long address", "a path and a query of 1 MiB" => address;
        "wrong lengths", "content-length that is negative, huge, double, hexadecimal, signed" => lengths;
        "CL.TE", "a second request behind the end that Transfer-Encoding gives" => cl_te;
        "TE.CL", "obfuscated Transfer-Encoding beside Content-Length" => te_cl;
        "chunk extensions", "chunks with extensions of 1 MiB, and sizes that overflow" => chunks;
        "NUL and control bytes", "in the path, in header names and in header values" => control;
        "wrong versions", "HTTP/0.9, HTTP/9.9, HTTP/2 in clear by upgrade, a proxy's CONNECT" => versions;
        "trailers", "10,000 trailers, and an Authorization among them" => trailers;
        "pipelining", "500 requests on one connection, without reading" => pipelining;
        "expect", "Expect: 100-continue, and a body that never comes" => expect;
    }
}

fn head(scene: &Scene, rest: &str) -> Vec<u8> {
    let bearer = bearer(&scene.ann);
    format!("POST / HTTP/1.1\r\nhost: localhost\r\n{bearer}{JSON}{rest}\r\n").into_bytes()
}

async fn open(scene: &Scene) -> Result<Pipe, String> {
    scene.pipe().await.map_err(|error| format!("can't connect: {error}"))
}

async fn big_body(scene: &Scene) -> Verdict {
    let mut announced = head(scene, "content-length: 34603008\r\n");
    announced.resize(announced.len() + (33 << 20), b' ');
    let announced = scene.raw(&announced, LONG).await?.refused()?;
    let mut bytes = head(scene, "transfer-encoding: chunked\r\n");
    for _ in 0..33 {
        bytes.extend_from_slice(b"100000\r\n");
        bytes.resize(bytes.len() + (1 << 20), b' ');
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    let sent = scene.raw(&bytes, LONG).await?.refused()?;
    Ok(format!("{announced}; {sent}"))
}

async fn endless_body(scene: &Scene) -> Verdict {
    let mut pipe = open(scene).await?;
    let start = head(scene, "transfer-encoding: chunked\r\n");
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
    Ok(format!("stopped reading after {mebibytes} MiB: {}", reply.told()))
}

/// Opens connections, has each send a few bytes, again and again, and sees how others are served.
async fn slow(scene: &Scene, count: usize, start: &[u8], drops: &[u8]) -> Verdict {
    let mut pipes = Vec::new();
    for _ in 0..count {
        let mut pipe = open(scene).await?;
        let _written = pipe.write_all(start).await;
        pipes.push(pipe);
    }
    for drop in drops {
        for pipe in &mut pipes {
            let _written = pipe.write_all(&[*drop]).await;
        }
    }
    let time = scene.is_served().await.map_err(|why| format!("beside them {why}"))?;
    Ok(format!("held {} connections, and served others in {time:.0?}", pipes.len()))
}

async fn slow_head(scene: &Scene) -> Verdict {
    slow(scene, MANY, b"POST / HTTP/1.1\r\nhost: localhost\r\nx: ", b"aaaaa").await
}

async fn slow_body(scene: &Scene) -> Verdict {
    slow(scene, 100, &head(scene, "content-length: 100000\r\n"), b"     ").await
}

async fn held_bodies(scene: &Scene) -> Verdict {
    let start = head(scene, &format!("content-length: {}\r\n", 8 << 20));
    let piece = vec![b' '; 1 << 20];
    let memory = || scene.process.as_ref().and_then(super::Process::memory).unwrap_or(0) >> 20;
    let before = memory();
    let mut held = Vec::new();
    for _ in 0..16 {
        // From another address than others: each has a part of the room for bodies.
        let connected = pipe::connect_from([127, 0, 0, 4], scene.address, scene.tls.as_ref()).await;
        let mut pipe = connected.map_err(|error| format!("can't connect: {error}"))?;
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
    let time = scene.is_served().await.map_err(|why| format!("beside them {why}"))?;
    let taken = memory().saturating_sub(before);
    if taken > 96 {
        return Err(format!("keeps {taken} MiB of them"));
    }
    Ok(format!("has {taken} MiB of {}, and served others in {time:.0?}", 16 * 7))
}

async fn silence(scene: &Scene) -> Verdict {
    let mut pipes = Vec::new();
    for number in 0..MANY {
        let mut pipe = tokio::net::TcpStream::connect(scene.address)
            .await
            .map_err(|error| format!("can't connect: {error}"))?;
        if number % 2 == 0 {
            let _half = pipe.shutdown().await;
        }
        pipes.push(pipe);
    }
    let time = scene.is_served().await.map_err(|why| format!("beside them {why}"))?;
    Ok(format!("held {} connections, and served others in {time:.0?}", pipes.len()))
}

async fn connections(scene: &Scene) -> Verdict {
    for _ in 0..1_000 {
        let stream = tokio::net::TcpStream::connect(scene.address).await;
        drop(stream.map_err(|error| format!("can't connect: {error}"))?);
    }
    Ok("let them come and go".to_owned())
}

/// Sends each on a connection of its own, and expects a refusal.
async fn each(scene: &Scene, requests: impl IntoIterator<Item = Vec<u8>>) -> Verdict {
    let mut told = Vec::new();
    for (number, request) in requests.into_iter().enumerate() {
        let reply = scene.raw(&request, WAIT).await?;
        let did = reply.refused().map_err(|why| format!("no. {}: {why}", number + 1))?;
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join(", "))
}

async fn headers(scene: &Scene) -> Verdict {
    let many: String = (0..10_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let long = format!("x: {}\r\n", "y".repeat(1 << 20));
    each(scene, [head(scene, &many), head(scene, &long)]).await
}

async fn address(scene: &Scene) -> Verdict {
    let long = "a".repeat(1 << 20);
    each(
        scene,
        ["/", "/?"].map(|start| {
            format!("GET {start}{long} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                .into_bytes()
        }),
    )
    .await
}

async fn lengths(scene: &Scene) -> Verdict {
    each(
        scene,
        [
            "content-length: -1\r\n",
            "content-length: 99999999999999999999999\r\n",
            "content-length: 18446744073709551615\r\n",
            "content-length: 5\r\ncontent-length: 6\r\n",
            "content-length: 0x10\r\n",
            "content-length: +5\r\n",
            "content-length: 5, 6\r\n",
        ]
        .map(|length| [head(scene, length), b"{}   ".to_vec()].concat()),
    )
    .await
}

/// Sends what some take for one request and others for two: one answer at most is right, or none.
async fn smuggles(scene: &Scene, requests: impl IntoIterator<Item = String>) -> Verdict {
    let mut told = Vec::new();
    for request in requests {
        let inner = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let bytes =
            [head(scene, &request.replace("<inner>", "")), inner.as_bytes().to_vec()].concat();
        let reply = scene.raw(&bytes, WAIT).await?;
        if reply.answers() > 1 {
            return Err(format!("answered {} times to {request:?}", reply.answers()));
        }
        let did = reply.refused().map_err(|why| format!("{request:?} {why}"))?;
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join(", "))
}

async fn cl_te(scene: &Scene) -> Verdict {
    // The chunk of no bytes ends the body for one reader, its length for another.
    smuggles(scene, ["content-length: 60\r\ntransfer-encoding: chunked\r\n\r\n0\r\n".to_owned()])
        .await
}

async fn te_cl(scene: &Scene) -> Verdict {
    smuggles(
        scene,
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

async fn chunks(scene: &Scene) -> Verdict {
    let start =
        |rest: String| [head(scene, "transfer-encoding: chunked\r\n"), rest.into_bytes()].concat();
    each(
        scene,
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

async fn control(scene: &Scene) -> Verdict {
    let raw = |text: &str| text.as_bytes().to_vec();
    each(
        scene,
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

async fn versions(scene: &Scene) -> Verdict {
    let raw = |text: &str| text.as_bytes().to_vec();
    each(scene, [
        raw("GET /\r\n"),
        raw("GET / HTTP/9.9\r\nhost: localhost\r\n\r\n"),
        raw("GET /tasks HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n"),
        raw("CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
        raw("TRACE / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
        raw("GET http://169.254.169.254/latest/meta-data HTTP/1.1\r\nhost: 169.254.169.254\r\nconnection: close\r\n\r\n"),
    ])
    .await
}

async fn trailers(scene: &Scene) -> Verdict {
    let many: String = (0..10_000).map(|number| format!("x-{number}: y\r\n")).collect();
    let start =
        format!("POST / HTTP/1.1\r\nhost: localhost\r\n{JSON}transfer-encoding: chunked\r\n\r\n");
    let call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\"}";
    let call = format!("{:x}\r\n{call}\r\n0\r\n", call.len());
    let token = bearer(&scene.ann);
    each(
        scene,
        [
            format!("{start}{call}{many}\r\n").into_bytes(),
            format!("{start}{call}{token}\r\n").into_bytes(),
        ],
    )
    .await
}

async fn pipelining(scene: &Scene) -> Verdict {
    let mut pipe = open(scene).await?;
    let one = "GET /.well-known/agent-card.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let reply = pipe::exchange(&mut pipe, one.repeat(500).as_bytes(), WAIT).await;
    Ok(format!("answered {} before they were read", reply.answers()))
}

async fn expect(scene: &Scene) -> Verdict {
    let bytes = head(scene, "content-length: 1000\r\nexpect: 100-continue\r\n");
    let mut pipes = Vec::new();
    for _ in 0..100 {
        let mut pipe = open(scene).await?;
        let _written = pipe.write_all(&bytes).await;
        pipes.push(pipe);
    }
    let time = scene.is_served().await.map_err(|why| format!("beside them {why}"))?;
    Ok(format!("waits on 100 connections, and served others in {time:.0?}"))
}
