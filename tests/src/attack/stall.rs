//! Requests that cost a server more time or places than they cost their sender, beside which
//! others have to be served: another caller's latency is measured during each.

use std::time::Duration;

use a2a_core::{
    Message, Part,
    v1::SendMessageRequest,
    well_known::{Struct, Value},
};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::future::join_all;
use http::Method;
use prost::Message as _;
use serde_json::json;

use super::{
    Attack, Scene, Verdict, attacks,
    frames::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, block, frame},
    scene::{JSON, bearer},
};
use crate::isolation::Ask;

/// The largest body that a server takes.
const BODY: usize = 8 << 20;
/// How many of them come at a time.
const BODIES: usize = 8;
/// Most JSON values that a server takes in one.
const VALUES: usize = 100_000;
/// Streams that watch the health, all from one address: four times what it may have.
const WATCHES: u32 = 1_000;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "zeros over JSON-RPC", "8 bodies of 8 MiB at a time, all zeros" => jsonrpc_zeros;
        "empty objects over JSON-RPC", "8 bodies of 8 MiB at a time, all {}" => jsonrpc_objects;
        "names over JSON-RPC", "8 bodies of 8 MiB at a time, all names" => jsonrpc_names;
        "zeros over HTTP+JSON", "8 bodies of 8 MiB at a time, all zeros" => rest_zeros;
        "zeros over gRPC", "8 messages of 8 MiB at a time, all zeros" => grpc_zeros;
        "empty parts over gRPC", "8 messages of 4,000,000 parts of two bytes at a time" => grpc_parts;
        "zeros in older revisions", "8 bodies of 8 MiB at a time, of 0.1 and 0.3" => older_zeros;
        "as many values as may be", "8 bodies of 7 MiB with 90,000 values at a time" => most_values;
        "health watches", "1,000 streams that watch the health over gRPC, from one address" => watches;
    }
}

/// Repeats `unit` to the largest body, between `start` and `end`.
fn filled(start: &str, unit: impl Fn(usize) -> String, last: &str, end: &str) -> Vec<u8> {
    let mut body = String::with_capacity(BODY);
    body.push_str(start);
    let room = BODY - last.len() - end.len();
    let mut number = 0;
    loop {
        let next = unit(number);
        if body.len() + next.len() > room {
            break;
        }
        body.push_str(&next);
        number += 1;
    }
    body.push_str(last);
    body.push_str(end);
    body.into_bytes()
}

const START: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo x"}]},"metadata":{"x":"#;

/// Sends bodies at a time, each of which has to be refused for its values.
async fn each_refused(scene: &Scene, lines: &[(&str, &str)], body: &[u8]) -> Verdict {
    let asks = (0..BODIES).map(|number| {
        let (line, headers) = lines[number % lines.len()];
        let headers = format!("{}{headers}", bearer(&scene.ann));
        async move { scene.request(line, &headers, body).await }
    });
    let mut told = Vec::new();
    for reply in join_all(asks).await {
        let reply = reply?;
        if !reply.text().contains("JSON values") {
            return Err(format!("not refused for its values: {}", reply.told()));
        }
        let did = reply.refused()?;
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join(", "))
}

async fn jsonrpc_zeros(scene: &Scene) -> Verdict {
    let body = filled(&format!("{START}["), |_| "0,".to_owned(), "0", "]}}}");
    each_refused(scene, &[("POST /", JSON)], &body).await
}

async fn jsonrpc_objects(scene: &Scene) -> Verdict {
    let body = filled(&format!("{START}["), |_| "{},".to_owned(), "{}", "]}}}");
    each_refused(scene, &[("POST /", JSON)], &body).await
}

async fn jsonrpc_names(scene: &Scene) -> Verdict {
    let unit = |number| format!("\"{number}\":0,");
    let body = filled(&format!("{START}{{"), unit, "\"\":0", "}}}}");
    each_refused(scene, &[("POST /", JSON)], &body).await
}

async fn rest_zeros(scene: &Scene) -> Verdict {
    let start = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo x"}]},"metadata":{"x":["#;
    let body = filled(start, |_| "0,".to_owned(), "0", "]}}");
    each_refused(scene, &[("POST /message:send", JSON), ("POST /v1/message:send", JSON)], &body)
        .await
}

async fn older_zeros(scene: &Scene) -> Verdict {
    let json = "content-type: application/json\r\n";
    let mut told = Vec::new();
    for (method, member) in [("message/send", "kind"), ("tasks/send", "type")] {
        let start = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"id":"a","message":{{"messageId":"m","role":"user","parts":[{{"{member}":"text","text":"echo x"}}],"metadata":{{"x":["#
        );
        let body = filled(&start, |_| "0,".to_owned(), "0", "]}}}}");
        told.push(format!("{method}: {}", each_refused(scene, &[("POST /", json)], &body).await?));
    }
    Ok(told.join("; "))
}

/// Sends gRPC messages at a time, each of which has to be refused for its values.
async fn grpc_refused(scene: &Scene, message: Vec<u8>) -> Verdict {
    let mut body = BytesMut::with_capacity(message.len() + 5);
    body.put_u8(0);
    body.put_u32(u32::try_from(message.len()).map_err(|error| error.to_string())?);
    body.put_slice(&message);
    let body = body.freeze();
    let asks = (0..BODIES).map(|_| {
        let ask = ask(body.clone());
        async move { scene.ask(&ask, Some(&scene.ann)).await }
    });
    let mut told = String::new();
    for answer in join_all(asks).await {
        let answer = answer?;
        let status = answer.header("grpc-status").unwrap_or_default();
        let message = answer.header("grpc-message").unwrap_or_default();
        if status != "3" || !message.contains("JSON") {
            return Err(format!("not refused for its values: grpc-status {status} {message}"));
        }
        told = format!("grpc-status {status} {message}");
    }
    Ok(told)
}

fn ask(body: Bytes) -> Ask {
    Ask {
        method: Method::POST,
        path: "/lf.a2a.v1.A2AService/SendMessage".to_owned(),
        headers: vec![
            ("content-type", "application/grpc".to_owned()),
            ("te", "trailers".to_owned()),
            ("a2a-version", "1.0".to_owned()),
        ],
        body,
        http2: true,
    }
}

async fn grpc_zeros(scene: &Scene) -> Verdict {
    // A zero of a list takes 11 bytes there.
    let zeros = Value::Array(vec![Value::from(0); BODY / 11 - 1_000]);
    let request = SendMessageRequest {
        message: Some(Message::user("echo x")),
        metadata: Some(Struct::from([("x", zeros)])),
        ..SendMessageRequest::default()
    };
    grpc_refused(scene, request.encode_to_vec()).await
}

async fn grpc_parts(scene: &Scene) -> Verdict {
    let part = Part::default();
    let message = Message { parts: vec![part], ..Message::default() };
    let one = message.encode_to_vec();
    let parts = one.repeat(4_000_000);
    let mut bytes = vec![0x12];
    prost::encoding::encode_varint(parts.len() as u64, &mut bytes);
    bytes.extend_from_slice(&parts);
    grpc_refused(scene, bytes).await
}

async fn most_values(scene: &Scene) -> Verdict {
    let zeros = "0,".repeat(VALUES - 10_000);
    let text = "x".repeat(7 << 20);
    let body = format!("{START}[{zeros}\"{text}\"]}}}}}}");
    let headers = format!("{}{JSON}", bearer(&scene.ann));
    let asks = (0..BODIES).map(|_| scene.request("POST /", &headers, body.as_bytes()));
    for reply in join_all(asks).await {
        let reply = reply?;
        if !reply.text().contains("\"result\"") {
            return Err(format!("was not served: {}", reply.told()));
        }
    }
    Ok(format!("served all {BODIES}"))
}

async fn watches(scene: &Scene) -> Verdict {
    let scheme = if scene.tls.is_some() { "https" } else { "http" };
    let head = block(&[
        (":method", "POST"),
        (":scheme", scheme),
        (":path", "/grpc.health.v1.Health/Watch"),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]);
    let mut connection = Frames::open(scene, &[]).await?;
    for number in 0..WATCHES {
        let stream = 2 * number + 1;
        let mut bytes = frame(HEADERS, END_HEADERS, stream, &head);
        bytes.extend(frame(DATA, END_STREAM, stream, &[0; 5]));
        connection.write(&bytes).await.map_err(|error| error.to_string())?;
    }
    connection.read(Duration::from_secs(3)).await;
    // A stream that is open has had its first message; one that was refused has had none.
    let frames = connection.frames();
    let open = frames.iter().filter(|(kind, ..)| *kind == DATA).count();
    let ended =
        frames.iter().filter(|(kind, flags, _)| *kind == HEADERS && flags & END_STREAM != 0);
    let refused = ended.count();
    let told = json!({"open": open, "refused": refused});
    match (open, refused) {
        (1..=256, 700..) => Ok(format!("{told}")),
        _ => Err(format!("{told}")),
    }
}
