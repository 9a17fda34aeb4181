//! Several agents on one port: the rest of a long body is read only of callers that an agent admits.

use std::{
    convert::Infallible,
    future::{pending, ready},
    time::Duration,
};

use a2a_kit::{Agents, operations::Caller};
use a2a_kit_auth::server::{ApiKeys, Guard};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::{net::TcpListener, time::timeout};

use crate::fixture::{api_key, card, http_builder, requirement, server};

/// More than is read of a caller without credentials.
const LONG: usize = 256 << 10;

fn guarded(key: &str) -> a2a_kit::Server {
    let card = card(&[("key", api_key("header", "X-API-Key"))], &[requirement(&[("key", &[])])]);
    let keys = ApiKeys::new().with_key(key, Caller::authenticated(key));
    server(card).with_auth(Guard::new().with_verifier("key", keys))
}

/// A JSON-RPC call of the tenant `two`, which is named after a long text.
fn jsonrpc() -> Vec<u8> {
    let text = "x".repeat(LONG);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":
        {{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}},"tenant":"two"}}}}"#
    )
    .into_bytes()
}

/// A gRPC message without a tenant: the fields of a message, with a long text.
fn grpc() -> Vec<u8> {
    let message = a2a_core::v1::SendMessageRequest {
        message: Some(a2a_kit::Message::user("x".repeat(LONG))),
        ..Default::default()
    };
    let mut message = prost::Message::encode_to_vec(&message);
    let mut frame = vec![0];
    frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.append(&mut message);
    frame
}

#[tokio::test]
async fn long_body_is_read_only_of_callers_that_an_agent_admits() {
    let agents = Agents::new().at("/", guarded("root")).tenant("two", guarded("two"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { agents.serve(listener, pending()).await.unwrap() });
    let http = http_builder().http2_prior_knowledge().build().unwrap();
    let json = ("/", "application/json", jsonrpc());
    let grpc = ("/lf.a2a.v1.A2AService/SendMessage", "application/grpc", grpc());
    for (path, media_type, body) in [json, grpc] {
        let is_grpc = media_type == "application/grpc";
        for (key, is_admitted) in [
            (None, false),
            (Some("wrong"), false),
            (Some("root"), is_grpc),
            (Some("two"), !is_grpc),
        ] {
            // Of those that no agent admits, the end never comes.
            let (start, rest) = body.split_at(LONG / 2);
            let mut chunks = vec![start.to_vec()];
            let is_known = key.is_some_and(|key| key != "wrong");
            chunks.extend(is_known.then(|| rest.to_vec()));
            let chunks = chunks.into_iter().map(Bytes::from).map(Frame::data);
            let end = stream::once(async move {
                if !is_known {
                    pending::<()>().await;
                }
            });
            let end = end.filter_map(|()| ready(None));
            let frames = stream::iter(chunks.map(Ok::<_, Infallible>)).chain(end);
            let mut request = http
                .post(format!("http://{address}{path}"))
                .header("content-type", media_type)
                .header("te", "trailers")
                .header("a2a-version", "1.0")
                .body(reqwest::Body::wrap(StreamBody::new(frames)));
            if let Some(key) = key {
                request = request.header("x-api-key", key);
            }
            let answer = timeout(Duration::from_secs(9), request.send()).await;
            let answer = answer.unwrap_or_else(|_| panic!("{path} {key:?}: it waits for the rest"));
            let answer = answer.unwrap();
            let status = answer.status().as_u16();
            let grpc_status = answer.headers().get("grpc-status").cloned();
            let is_served = if is_grpc { grpc_status.is_none() } else { status == 200 };
            assert_eq!(is_served, is_admitted, "{path} {key:?}: {status} {grpc_status:?}");
        }
    }
}
