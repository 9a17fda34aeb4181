//! Malformed and excessive HTTP/2 frames, and gRPC messages.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::Method;

use super::{
    Attack, Environment, Verdict, attacks,
    frames::{
        CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, PING, PRIORITY, RESET,
        SETTINGS, WINDOW_UPDATE, block, frame,
    },
};
use crate::isolation::{Answer, WireRequest};

const WAIT: Duration = Duration::from_secs(2);

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "rapid reset", "20,000 requests, each reset immediately" => rapid_reset;
        "CONTINUATION flood", "a head of 64 MiB" => continuation;
        "empty CONTINUATION flood", "a head of 100,000 empty frames" => empty_continuation;
        "PING flood", "100,000 pings" => ping;
        "SETTINGS flood", "100,000 settings" => settings;
        "PRIORITY flood", "100,000 priorities" => priority;
        "WINDOW_UPDATE flood", "100,000 window updates of a byte" => updates;
        "unknown frame flood", "100,000 frames of an unknown type" => unknown;
        "empty DATA flood", "100,000 empty frames" => empty_data;
        "stream flood", "5,000 requests that never end, on one connection" => streams;
        "zero window", "100 responses with a window of 0" => window;
        "window overflow", "window updates beyond the largest window" => overflow;
        "wrong frames", "frames of unknown types, on stream 0, on even streams, oversized" => wrong;
        "header bomb", "a small head that expands to 64 MiB" => hpack;
        "forbidden headers", "connection headers, capitals, two paths, authority with credentials" => forbidden;
        "wrong gRPC frames", "invalid flags, lengths and messages" => grpc_frames;
        "false length", "a gRPC message of 4 GiB announced" => grpc_length;
        "gRPC bomb", "a compressed message with a ratio of 1,000" => grpc_bomb;
        "deep Struct", "metadata 10,000 objects deep, in protobuf" => grpc_deep;
        "invalid deadlines", "empty, huge and malformed grpc-timeout" => grpc_deadlines;
    }
}

fn request<'a>(env: &'a Environment, bearer: &'a str) -> Vec<(&'a str, &'a str)> {
    let scheme = if env.tls.is_some() { "https" } else { "http" };
    vec![
        (":method", "POST"),
        (":scheme", scheme),
        (":path", "/"),
        (":authority", "localhost"),
        ("content-type", "application/json"),
        ("a2a-version", "1.0"),
        ("authorization", bearer),
    ]
}

fn head(env: &Environment) -> Vec<u8> {
    block(&request(env, &format!("Bearer {}", env.ann)))
}

/// Writes the same bytes repeatedly, and reads the reaction.
async fn flood(
    env: &Environment,
    times: usize,
    at_once: usize,
    bytes: impl Fn(usize) -> Vec<u8>,
) -> Result<(Frames, usize), String> {
    let mut frames = Frames::open(env, &[]).await?;
    let mut written = 0;
    while written < times {
        let batch: Vec<u8> = (written..written + at_once).flat_map(&bytes).collect();
        if frames.write(&batch).await.is_err() {
            frames.closed = true;
            break;
        }
        written += at_once;
        // A server that does not read blocks the writer.
        frames.read(Duration::from_millis(1)).await;
        if frames.closed {
            break;
        }
    }
    frames.read(WAIT).await;
    Ok((frames, written))
}

fn stream(number: usize) -> u32 {
    u32::try_from(number * 2 + 1).unwrap_or(u32::MAX >> 1)
}

async fn rapid_reset(env: &Environment) -> Verdict {
    let head = head(env);
    let one = |number| {
        let stream = stream(number);
        let cancel = 8_u32.to_be_bytes();
        [frame(HEADERS, END_HEADERS, stream, &head), frame(RESET, 0, stream, &cancel)].concat()
    };
    let (frames, written) = flood(env, 20_000, 100, one).await?;
    if !frames.is_refused() {
        return Err(format!("accepted all {written}: {}", frames.summary()));
    }
    Ok(format!("after {written}: {}", frames.summary()))
}

async fn continuation(env: &Environment) -> Verdict {
    let part = block(&[("x", &"y".repeat(16_000))]);
    let one = |number| match number {
        0 => frame(HEADERS, 0, 1, &head(env)),
        _ => frame(CONTINUATION, 0, 1, &part),
    };
    let (frames, written) = flood(env, 4_096, 16, one).await?;
    rejected(&frames, written)
}

async fn empty_continuation(env: &Environment) -> Verdict {
    let one = |number| match number {
        0 => frame(HEADERS, 0, 1, &head(env)),
        _ => frame(CONTINUATION, 0, 1, &[]),
    };
    let (frames, written) = flood(env, 100_000, 1_000, one).await?;
    rejected(&frames, written)
}

fn rejected(frames: &Frames, written: usize) -> Verdict {
    match frames.is_refused() {
        true => Ok(format!("after {written} frames: {}", frames.summary())),
        false => Err(format!("accepted {written} frames: {}", frames.summary())),
    }
}

/// Repeats a frame, which has to close the connection.
async fn repeated(env: &Environment, one: Vec<u8>) -> Verdict {
    let (frames, written) = flood(env, 100_000, 1_000, |_| one.clone()).await?;
    rejected(&frames, written)
}

async fn ping(env: &Environment) -> Verdict {
    repeated(env, frame(PING, 0, 0, &[7; 8])).await
}

async fn settings(env: &Environment) -> Verdict {
    repeated(env, frame(SETTINGS, 0, 0, &[])).await
}

async fn priority(env: &Environment) -> Verdict {
    repeated(env, frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 16])).await
}

async fn updates(env: &Environment) -> Verdict {
    repeated(env, frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes())).await
}

async fn unknown(env: &Environment) -> Verdict {
    repeated(env, frame(0xbe, 0, 0, b"x")).await
}

async fn empty_data(env: &Environment) -> Verdict {
    let one = |number| match number {
        0 => frame(HEADERS, END_HEADERS, 1, &head(env)),
        _ => frame(DATA, 0, 1, &[]),
    };
    let (frames, written) = flood(env, 100_000, 1_000, one).await?;
    rejected(&frames, written)
}

async fn streams(env: &Environment) -> Verdict {
    let head = head(env);
    let one = |number| frame(HEADERS, END_HEADERS, stream(number), &head);
    let (frames, written) = flood(env, 5_000, 100, one).await?;
    let rejected = frames.frames().iter().filter(|(kind, ..)| *kind == RESET).count();
    if rejected == 0 && !frames.is_refused() {
        return Err(format!("keeps {written} open: {}", frames.summary()));
    }
    Ok(frames.summary())
}

async fn window(env: &Environment) -> Verdict {
    // Setting 4 is the window of each stream.
    let mut frames = Frames::open(env, &[(4, 0)]).await?;
    let scheme = if env.tls.is_some() { "https" } else { "http" };
    let head = block(&[
        (":method", "GET"),
        (":scheme", scheme),
        (":path", "/.well-known/agent-card.json"),
        (":authority", "localhost"),
    ]);
    for number in 0..100 {
        let bytes = frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &head);
        if frames.write(&bytes).await.is_err() {
            break;
        }
    }
    frames.read(WAIT).await;
    let time = env.is_served().await?;
    Ok(format!("{}, and served other callers in {time:.0?}", frames.summary()))
}

/// Sends frames on a new connection, which have to end it or their stream.
async fn each(env: &Environment, tries: Vec<Vec<u8>>) -> Verdict {
    let mut summary = Vec::new();
    for (number, bytes) in tries.into_iter().enumerate() {
        let mut frames = Frames::open(env, &[]).await?;
        let _may_be_cut = frames.write(&bytes).await;
        frames.read(WAIT).await;
        let is_reset = frames.frames().iter().any(|(kind, ..)| *kind == RESET);
        let is_answered = frames.frames().iter().any(|(kind, ..)| *kind == HEADERS);
        if is_answered && !is_reset && !frames.is_refused() {
            // 400, 401 and the like: byte 0x8d of the static table, or literal; never 200.
            let ok = frames
                .frames()
                .iter()
                .any(|(kind, _, payload)| *kind == HEADERS && payload.contains(&0x88));
            if ok {
                return Err(format!("no. {} was served: {}", number + 1, frames.summary()));
            }
        }
        let did = frames.summary();
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join("; "))
}

async fn overflow(env: &Environment) -> Verdict {
    let most = 0x7fff_ffff_u32.to_be_bytes();
    let update = frame(WINDOW_UPDATE, 0, 0, &most);
    let none = frame(WINDOW_UPDATE, 0, 0, &[0; 4]);
    each(env, vec![[update.clone(), update].concat(), none]).await
}

async fn wrong(env: &Environment) -> Verdict {
    let head = head(env);
    each(
        env,
        vec![
            frame(HEADERS, END_HEADERS | END_STREAM, 0, &head),
            frame(HEADERS, END_HEADERS | END_STREAM, 2, &head),
            frame(DATA, 0, 1, b"x"),
            frame(PING, 0, 0, &[0; 7]),
            frame(SETTINGS, 0, 0, &[0; 5]),
            frame(CONTINUATION, END_HEADERS, 1, &head),
            frame(DATA, 0, 0, &vec![0; (1 << 24) - 1]),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xff; 64]),
            (0..=255).map(|byte| byte ^ 0x5a).collect::<Vec<u8>>().repeat(64),
        ],
    )
    .await
}

async fn hpack(env: &Environment) -> Verdict {
    // One header of 4,000 bytes enters the table and is referenced 16,000 times by one byte.
    let mut payload = head(env);
    payload.extend_from_slice(&[0x40, 0x01, b'x', 0x7f, 0xa1, 0x1e]);
    payload.resize(payload.len() + 4_000, b'y');
    payload.resize(payload.len() + 11_000, 0x80 | 62);
    let mut frames = Frames::open(env, &[]).await?;
    let _may_be_cut = frames.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &payload)).await;
    frames.read(WAIT).await;
    Ok(frames.summary())
}

async fn forbidden(env: &Environment) -> Verdict {
    let bearer = format!("Bearer {}", env.ann);
    let with = |name: &'static str, value: &'static str| {
        let mut headers = request(env, &bearer);
        headers.push((name, value));
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&headers))
    };
    each(
        env,
        vec![
            with("connection", "close"),
            with("transfer-encoding", "chunked"),
            with("X-Capital", "y"),
            with(":path", "/other"),
            with("x\r\ny", "z"),
            with("x", "y\r\nz: a"),
            with("te", "gzip"),
        ],
    )
    .await
}

/// Calls a gRPC method with a raw body.
async fn grpc(
    env: &Environment,
    body: Vec<u8>,
    more: &[(&'static str, &str)],
) -> Result<Answer, String> {
    let mut headers = vec![
        ("content-type", "application/grpc".to_owned()),
        ("te", "trailers".to_owned()),
        ("a2a-version", "1.0".to_owned()),
    ];
    headers.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let request = WireRequest {
        method: Method::POST,
        path: "/lf.a2a.v1.A2AService/SendMessage".to_owned(),
        headers,
        body: Bytes::from(body),
        http2: true,
    };
    env.execute(&request, Some(&env.ann)).await
}

fn framed(flag: u8, length: u32, message: &[u8]) -> Vec<u8> {
    let mut frame = BytesMut::new();
    frame.put_u8(flag);
    frame.put_u32(length);
    frame.put_slice(message);
    frame.to_vec()
}

/// Expects a failure status or a closed connection.
async fn each_grpc(
    env: &Environment,
    bodies: Vec<Vec<u8>>,
    more: &[(&'static str, &str)],
) -> Verdict {
    let mut summary = Vec::new();
    for body in bodies {
        let did = match grpc(env, body, more).await {
            Ok(answer) => match answer.header("grpc-status") {
                Some(status) if status != "0" => format!("grpc-status {status}"),
                _ if answer.status != 200 => format!("HTTP {}", answer.status),
                _ => return Err(format!("was served: {answer:?}")),
            },
            Err(ended) if ended.contains("in time") => return Err(ended),
            Err(ended) => ended,
        };
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

async fn grpc_frames(env: &Environment) -> Verdict {
    each_grpc(
        env,
        vec![
            framed(7, 2, b"\x0a\x00"),
            framed(0, 100, b"\x0a\x00"),
            framed(0, 4, b"\xff\xff\xff\xff"),
            b"\0\0".to_vec(),
            Vec::new(),
            // A field of a length that overflows.
            framed(0, 11, b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            // Two messages instead of one.
            [framed(0, 0, b""), framed(0, 0, b"")].concat(),
        ],
        &[],
    )
    .await
}

async fn grpc_length(env: &Environment) -> Verdict {
    each_grpc(env, vec![framed(0, u32::MAX, b"x"), framed(0, 40 << 20, b"x")], &[]).await
}

async fn grpc_bomb(env: &Environment) -> Verdict {
    // The start of 10 MiB of zeros in gzip; the rest is not needed for a rejection.
    let gzip = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0xed, 0xc1, 1, 1, 0, 0, 0, 0x80][..]]
        .concat();
    let length = u32::try_from(gzip.len()).unwrap_or(0);
    each_grpc(env, vec![framed(1, length, &gzip)], &[("grpc-encoding", "gzip")]).await
}

async fn grpc_deep(env: &Environment) -> Verdict {
    // Value { struct_value { fields { key, value: Value .. } } }, built from the inside.
    let nested = |depth: usize| {
        let mut value = vec![0x08, 0x00];
        for _ in 0..depth {
            let entry = [field(1, b"k"), field(2, &value)].concat();
            value = field(5, &field(1, &entry));
        }
        field(1, &[field(1, b"k"), field(2, &value)].concat())
    };
    // The metadata of the request is field 4, after tenant, message and configuration.
    let messages = [100, 1_000, 5_000].map(|depth| {
        let body = field(4, &nested(depth));
        framed(0, u32::try_from(body.len()).unwrap_or(0), &body)
    });
    each_grpc(env, messages.to_vec(), &[]).await
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::bytes::encode(number, &content.to_vec(), &mut out);
    out
}

async fn grpc_deadlines(env: &Environment) -> Verdict {
    let mut summary = Vec::new();
    for deadline in ["0n", "99999999H", "999999999H", "-1S", "x", "1", ""] {
        let did = each_grpc(env, vec![framed(0, 0, b"")], &[("grpc-timeout", deadline)]).await?;
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}
