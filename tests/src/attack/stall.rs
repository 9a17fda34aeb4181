//! Requests that are disproportionately expensive for the server, while other callers have to be
//! served: another caller's latency is measured during each.

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
    Attack, Environment, Verdict, attacks,
    environment::{JSON, bearer},
    frames::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, block, frame},
};
use crate::isolation::WireRequest;

/// The maximum body size.
const BODY: usize = 8 << 20;
/// Concurrent bodies.
const BODIES: usize = 8;
/// The maximum number of JSON values in a body.
const VALUES: usize = 100_000;
/// Health watches from one address: four times its limit.
const WATCHES: u32 = 1_000;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "zeros over JSON-RPC", "8 bodies of 8 MiB at a time, all zeros" => jsonrpc_zeros;
        "empty objects over JSON-RPC", "8 bodies of 8 MiB at a time, all {}" => jsonrpc_objects;
        "names over JSON-RPC", "8 bodies of 8 MiB at a time, all names" => jsonrpc_names;
        "zeros over HTTP+JSON", "8 bodies of 8 MiB at a time, all zeros" => rest_zeros;
        "zeros over gRPC", "8 messages of 8 MiB at a time, all zeros" => grpc_zeros;
        "empty parts over gRPC", "8 messages of 4,000,000 parts of two bytes at a time" => grpc_parts;
        "zeros in older revisions", "8 concurrent bodies of 8 MiB, of 0.1 and 0.3" => older_zeros;
        "maximum number of values", "8 bodies of 7 MiB with 90,000 values at a time" => most_values;
        "health watches", "1,000 gRPC health watches from one address" => watches;
    }
}

/// Fills the largest body with `unit`, between `start` and `end`.
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

/// Sends concurrent bodies, which have to be rejected for their number of values.
async fn each_rejected(env: &Environment, lines: &[(&str, &str)], body: &[u8]) -> Verdict {
    let asks = (0..BODIES).map(|number| {
        let (line, headers) = lines[number % lines.len()];
        let headers = format!("{}{headers}", bearer(&env.ann));
        async move { env.request(line, &headers, body).await }
    });
    let mut summary = Vec::new();
    for reply in join_all(asks).await {
        let reply = reply?;
        if !reply.text().contains("JSON values") {
            return Err(format!("not rejected for its values: {}", reply.summary()));
        }
        let did = reply.rejected()?;
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

async fn jsonrpc_zeros(env: &Environment) -> Verdict {
    let body = filled(&format!("{START}["), |_| "0,".to_owned(), "0", "]}}}");
    each_rejected(env, &[("POST /", JSON)], &body).await
}

async fn jsonrpc_objects(env: &Environment) -> Verdict {
    let body = filled(&format!("{START}["), |_| "{},".to_owned(), "{}", "]}}}");
    each_rejected(env, &[("POST /", JSON)], &body).await
}

async fn jsonrpc_names(env: &Environment) -> Verdict {
    let unit = |number| format!("\"{number}\":0,");
    let body = filled(&format!("{START}{{"), unit, "\"\":0", "}}}}");
    each_rejected(env, &[("POST /", JSON)], &body).await
}

async fn rest_zeros(env: &Environment) -> Verdict {
    let start = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo x"}]},"metadata":{"x":["#;
    let body = filled(start, |_| "0,".to_owned(), "0", "]}}");
    each_rejected(env, &[("POST /message:send", JSON), ("POST /v1/message:send", JSON)], &body)
        .await
}

async fn older_zeros(env: &Environment) -> Verdict {
    let json = "content-type: application/json\r\n";
    let mut summary = Vec::new();
    for (method, member) in [("message/send", "kind"), ("tasks/send", "type")] {
        let start = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"id":"a","message":{{"messageId":"m","role":"user","parts":[{{"{member}":"text","text":"echo x"}}],"metadata":{{"x":["#
        );
        let body = filled(&start, |_| "0,".to_owned(), "0", "]}}}}");
        summary
            .push(format!("{method}: {}", each_rejected(env, &[("POST /", json)], &body).await?));
    }
    Ok(summary.join("; "))
}

/// Sends concurrent gRPC messages, which have to be rejected for their number of values.
async fn grpc_rejected(env: &Environment, message: Vec<u8>) -> Verdict {
    let mut body = BytesMut::with_capacity(message.len() + 5);
    body.put_u8(0);
    body.put_u32(u32::try_from(message.len()).map_err(|error| error.to_string())?);
    body.put_slice(&message);
    let body = body.freeze();
    let asks = (0..BODIES).map(|_| {
        let ask = ask(body.clone());
        async move { env.execute(&ask, Some(&env.ann)).await }
    });
    let mut summary = String::new();
    for answer in join_all(asks).await {
        let answer = answer?;
        let status = answer.header("grpc-status").unwrap_or_default();
        let message = answer.header("grpc-message").unwrap_or_default();
        if status != "3" || !message.contains("JSON") {
            return Err(format!("not rejected for its values: grpc-status {status} {message}"));
        }
        summary = format!("grpc-status {status} {message}");
    }
    Ok(summary)
}

fn ask(body: Bytes) -> WireRequest {
    WireRequest {
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

async fn grpc_zeros(env: &Environment) -> Verdict {
    // A zero in a list takes 11 bytes.
    let zeros = Value::Array(vec![Value::from(0); BODY / 11 - 1_000]);
    let request = SendMessageRequest {
        message: Some(Message::user("echo x")),
        metadata: Some(Struct::from([("x", zeros)])),
        ..SendMessageRequest::default()
    };
    grpc_rejected(env, request.encode_to_vec()).await
}

async fn grpc_parts(env: &Environment) -> Verdict {
    let part = Part::default();
    let message = Message { parts: vec![part], ..Message::default() };
    let one = message.encode_to_vec();
    let parts = one.repeat(4_000_000);
    let mut bytes = vec![0x12];
    prost::encoding::encode_varint(parts.len() as u64, &mut bytes);
    bytes.extend_from_slice(&parts);
    grpc_rejected(env, bytes).await
}

async fn most_values(env: &Environment) -> Verdict {
    let zeros = "0,".repeat(VALUES - 10_000);
    let text = "x".repeat(7 << 20);
    let body = format!("{START}[{zeros}\"{text}\"]}}}}}}");
    let headers = format!("{}{JSON}", bearer(&env.ann));
    let asks = (0..BODIES).map(|_| env.request("POST /", &headers, body.as_bytes()));
    for reply in join_all(asks).await {
        let reply = reply?;
        if !reply.text().contains("\"result\"") {
            return Err(format!("was not served: {}", reply.summary()));
        }
    }
    Ok(format!("served all {BODIES}"))
}

async fn watches(env: &Environment) -> Verdict {
    let scheme = if env.tls.is_some() { "https" } else { "http" };
    let head = block(&[
        (":method", "POST"),
        (":scheme", scheme),
        (":path", "/grpc.health.v1.Health/Watch"),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]);
    let mut connection = Frames::open(env, &[]).await?;
    for number in 0..WATCHES {
        let stream = 2 * number + 1;
        let mut bytes = frame(HEADERS, END_HEADERS, stream, &head);
        bytes.extend(frame(DATA, END_STREAM, stream, &[0; 5]));
        connection.write(&bytes).await.map_err(|error| error.to_string())?;
    }
    connection.read(Duration::from_secs(3)).await;
    // An open stream has its first message; a rejected one has none.
    let frames = connection.frames();
    let open = frames.iter().filter(|(kind, ..)| *kind == DATA).count();
    let ended =
        frames.iter().filter(|(kind, flags, _)| *kind == HEADERS && flags & END_STREAM != 0);
    let rejected = ended.count();
    let summary = json!({"open": open, "rejected": rejected});
    match (open, rejected) {
        (1..=256, 700..) => Ok(format!("{summary}")),
        _ => Err(format!("{summary}")),
    }
}
