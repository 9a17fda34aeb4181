//! Frames that are nearly HTTP/2, or too many, and what gRPC has on top.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::Method;

use super::{
    Attack, Scene, Verdict, attacks,
    frames::{
        CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, PING, PRIORITY, RESET,
        SETTINGS, WINDOW_UPDATE, block, frame,
    },
};
use crate::isolation::{Answer, Ask};

const WAIT: Duration = Duration::from_secs(2);

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "rapid reset", "20,000 requests, each taken back at once" => rapid_reset;
        "CONTINUATION flood", "a head that goes on for 64 MiB" => continuation;
        "empty CONTINUATION flood", "a head that goes on for 100,000 empty frames" => empty_continuation;
        "PING flood", "100,000 pings" => ping;
        "SETTINGS flood", "100,000 settings" => settings;
        "PRIORITY flood", "100,000 priorities" => priority;
        "WINDOW_UPDATE flood", "100,000 updates of a window, by a byte each" => updates;
        "flood of the unknown", "100,000 frames of a kind that does not exist" => unknown;
        "empty DATA flood", "100,000 frames with nothing in them" => empty_data;
        "stream flood", "5,000 requests that never end, on one connection" => streams;
        "window of nothing", "100 answers that may not be sent, for the window is 0" => window;
        "window overflow", "window updates beyond the largest window" => overflow;
        "wrong frames", "frames of unknown kinds, on stream 0, on even streams, too long" => wrong;
        "header bomb", "a small head that comes to 64 MiB by the table" => hpack;
        "forbidden headers", "connection headers, capitals, two paths, authority with credentials" => forbidden;
        "wrong gRPC frames", "flags, lengths and messages that are none" => grpc_frames;
        "lying length", "a gRPC message of 4 GiB announced" => grpc_length;
        "gRPC bomb", "a compressed message, 1,000 times as large unpacked" => grpc_bomb;
        "deep Struct", "metadata 10,000 objects deep, in protobuf" => grpc_deep;
        "wild deadlines", "grpc-timeout of nothing, of centuries, of letters" => grpc_deadlines;
    }
}

fn request<'a>(scene: &'a Scene, bearer: &'a str) -> Vec<(&'a str, &'a str)> {
    let scheme = if scene.tls.is_some() { "https" } else { "http" };
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

fn head(scene: &Scene) -> Vec<u8> {
    block(&request(scene, &format!("Bearer {}", scene.ann)))
}

/// Writes the same bytes again and again, and reads what comes of it.
async fn flood(
    scene: &Scene,
    times: usize,
    at_once: usize,
    bytes: impl Fn(usize) -> Vec<u8>,
) -> Result<(Frames, usize), String> {
    let mut frames = Frames::open(scene, &[]).await?;
    let mut written = 0;
    while written < times {
        let batch: Vec<u8> = (written..written + at_once).flat_map(&bytes).collect();
        if frames.write(&batch).await.is_err() {
            frames.closed = true;
            break;
        }
        written += at_once;
        // What is never read holds up who writes it.
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

async fn rapid_reset(scene: &Scene) -> Verdict {
    let head = head(scene);
    let one = |number| {
        let stream = stream(number);
        let cancel = 8_u32.to_be_bytes();
        [frame(HEADERS, END_HEADERS, stream, &head), frame(RESET, 0, stream, &cancel)].concat()
    };
    let (frames, written) = flood(scene, 20_000, 100, one).await?;
    if !frames.is_refused() {
        return Err(format!("took all {written}: {}", frames.told()));
    }
    Ok(format!("after {written}: {}", frames.told()))
}

async fn continuation(scene: &Scene) -> Verdict {
    let part = block(&[("x", &"y".repeat(16_000))]);
    let one = |number| match number {
        0 => frame(HEADERS, 0, 1, &head(scene)),
        _ => frame(CONTINUATION, 0, 1, &part),
    };
    let (frames, written) = flood(scene, 4_096, 16, one).await?;
    refused(&frames, written)
}

async fn empty_continuation(scene: &Scene) -> Verdict {
    let one = |number| match number {
        0 => frame(HEADERS, 0, 1, &head(scene)),
        _ => frame(CONTINUATION, 0, 1, &[]),
    };
    let (frames, written) = flood(scene, 100_000, 1_000, one).await?;
    refused(&frames, written)
}

fn refused(frames: &Frames, written: usize) -> Verdict {
    match frames.is_refused() {
        true => Ok(format!("after {written} frames: {}", frames.told())),
        false => Err(format!("took {written} frames: {}", frames.told())),
    }
}

/// The same frame again and again, which has to end the connection.
async fn repeated(scene: &Scene, one: Vec<u8>) -> Verdict {
    let (frames, written) = flood(scene, 100_000, 1_000, |_| one.clone()).await?;
    refused(&frames, written)
}

async fn ping(scene: &Scene) -> Verdict {
    repeated(scene, frame(PING, 0, 0, &[7; 8])).await
}

async fn settings(scene: &Scene) -> Verdict {
    repeated(scene, frame(SETTINGS, 0, 0, &[])).await
}

async fn priority(scene: &Scene) -> Verdict {
    repeated(scene, frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 16])).await
}

async fn updates(scene: &Scene) -> Verdict {
    repeated(scene, frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes())).await
}

async fn unknown(scene: &Scene) -> Verdict {
    repeated(scene, frame(0xbe, 0, 0, b"x")).await
}

async fn empty_data(scene: &Scene) -> Verdict {
    let one = |number| match number {
        0 => frame(HEADERS, END_HEADERS, 1, &head(scene)),
        _ => frame(DATA, 0, 1, &[]),
    };
    let (frames, written) = flood(scene, 100_000, 1_000, one).await?;
    refused(&frames, written)
}

async fn streams(scene: &Scene) -> Verdict {
    let head = head(scene);
    let one = |number| frame(HEADERS, END_HEADERS, stream(number), &head);
    let (frames, written) = flood(scene, 5_000, 100, one).await?;
    let refused = frames.frames().iter().filter(|(kind, ..)| *kind == RESET).count();
    if refused == 0 && !frames.is_refused() {
        return Err(format!("keeps {written} open: {}", frames.told()));
    }
    Ok(frames.told())
}

async fn window(scene: &Scene) -> Verdict {
    // Setting 4 is the window of each stream.
    let mut frames = Frames::open(scene, &[(4, 0)]).await?;
    let scheme = if scene.tls.is_some() { "https" } else { "http" };
    let head = block(&[
        (":method", "GET"),
        (":scheme", scheme),
        (":path", "/.well-known/agent-card.json"),
        (":authority", "localhost"),
    ]);
    for number in 0..100 {
        let ask = frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &head);
        if frames.write(&ask).await.is_err() {
            break;
        }
    }
    frames.read(WAIT).await;
    let time = scene.is_served().await?;
    Ok(format!("{}, and served others in {time:.0?}", frames.told()))
}

/// Sends frames on a connection of their own, which has to be the end of it, or of their stream.
async fn each(scene: &Scene, tries: Vec<Vec<u8>>) -> Verdict {
    let mut told = Vec::new();
    for (number, bytes) in tries.into_iter().enumerate() {
        let mut frames = Frames::open(scene, &[]).await?;
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
                return Err(format!("no. {} was served: {}", number + 1, frames.told()));
            }
        }
        let did = frames.told();
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join("; "))
}

async fn overflow(scene: &Scene) -> Verdict {
    let most = 0x7fff_ffff_u32.to_be_bytes();
    let update = frame(WINDOW_UPDATE, 0, 0, &most);
    let none = frame(WINDOW_UPDATE, 0, 0, &[0; 4]);
    each(scene, vec![[update.clone(), update].concat(), none]).await
}

async fn wrong(scene: &Scene) -> Verdict {
    let head = head(scene);
    each(
        scene,
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

async fn hpack(scene: &Scene) -> Verdict {
    // One header of 4,000 bytes goes into the table, and is then named 16,000 times by one byte.
    let mut payload = head(scene);
    payload.extend_from_slice(&[0x40, 0x01, b'x', 0x7f, 0xa1, 0x1e]);
    payload.resize(payload.len() + 4_000, b'y');
    payload.resize(payload.len() + 11_000, 0x80 | 62);
    let mut frames = Frames::open(scene, &[]).await?;
    let _may_be_cut = frames.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &payload)).await;
    frames.read(WAIT).await;
    Ok(frames.told())
}

async fn forbidden(scene: &Scene) -> Verdict {
    let bearer = format!("Bearer {}", scene.ann);
    let with = |name: &'static str, value: &'static str| {
        let mut headers = request(scene, &bearer);
        headers.push((name, value));
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&headers))
    };
    each(
        scene,
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

/// Calls a method of gRPC with a body as it is given.
async fn grpc(
    scene: &Scene,
    body: Vec<u8>,
    more: &[(&'static str, &str)],
) -> Result<Answer, String> {
    let mut headers = vec![
        ("content-type", "application/grpc".to_owned()),
        ("te", "trailers".to_owned()),
        ("a2a-version", "1.0".to_owned()),
    ];
    headers.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let ask = Ask {
        method: Method::POST,
        path: "/lf.a2a.v1.A2AService/SendMessage".to_owned(),
        headers,
        body: Bytes::from(body),
        http2: true,
    };
    scene.ask(&ask, Some(&scene.ann)).await
}

fn framed(flag: u8, length: u32, message: &[u8]) -> Vec<u8> {
    let mut frame = BytesMut::new();
    frame.put_u8(flag);
    frame.put_u32(length);
    frame.put_slice(message);
    frame.to_vec()
}

/// A status that is no success, or a connection that ended.
async fn each_grpc(scene: &Scene, bodies: Vec<Vec<u8>>, more: &[(&'static str, &str)]) -> Verdict {
    let mut told = Vec::new();
    for body in bodies {
        let did = match grpc(scene, body, more).await {
            Ok(answer) => match answer.header("grpc-status") {
                Some(status) if status != "0" => format!("grpc-status {status}"),
                _ if answer.status != 200 => format!("HTTP {}", answer.status),
                _ => return Err(format!("was served: {answer:?}")),
            },
            Err(ended) if ended.contains("in time") => return Err(ended),
            Err(ended) => ended,
        };
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join(", "))
}

async fn grpc_frames(scene: &Scene) -> Verdict {
    each_grpc(
        scene,
        vec![
            framed(7, 2, b"\x0a\x00"),
            framed(0, 100, b"\x0a\x00"),
            framed(0, 4, b"\xff\xff\xff\xff"),
            b"\0\0".to_vec(),
            Vec::new(),
            // A field of a length that overflows.
            framed(0, 11, b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            // Two messages where one belongs.
            [framed(0, 0, b""), framed(0, 0, b"")].concat(),
        ],
        &[],
    )
    .await
}

async fn grpc_length(scene: &Scene) -> Verdict {
    each_grpc(scene, vec![framed(0, u32::MAX, b"x"), framed(0, 40 << 20, b"x")], &[]).await
}

async fn grpc_bomb(scene: &Scene) -> Verdict {
    // The gzip form of 10 MiB of nothing begins so; it need not be whole to be refused.
    let gzip = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0xed, 0xc1, 1, 1, 0, 0, 0, 0x80][..]]
        .concat();
    let length = u32::try_from(gzip.len()).unwrap_or(0);
    each_grpc(scene, vec![framed(1, length, &gzip)], &[("grpc-encoding", "gzip")]).await
}

async fn grpc_deep(scene: &Scene) -> Verdict {
    // Value { struct_value { fields { key, value: Value .. } } }, from the inside out.
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
    each_grpc(scene, messages.to_vec(), &[]).await
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::bytes::encode(number, &content.to_vec(), &mut out);
    out
}

async fn grpc_deadlines(scene: &Scene) -> Verdict {
    let mut told = Vec::new();
    for deadline in ["0n", "99999999H", "999999999H", "-1S", "x", "1", ""] {
        let did = each_grpc(scene, vec![framed(0, 0, b"")], &[("grpc-timeout", deadline)]).await?;
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join(", "))
}
