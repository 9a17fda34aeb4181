//! Callers that ask for too much, and requests that are made to hurt, at every binding.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use std::{net::SocketAddr, num::NonZeroUsize, time::Duration};

use a2a_kit::{
    AgentCard, Client, Engine, ErrorKind, Server, agent_fn,
    client::{ClientSettings, RetryPolicy, Transport},
    http::{client::HttpClient, rate::AddressRate},
    operations::QuotaConfig,
};
use bytes::Bytes;
use http::{Response, StatusCode};
use tokio::{net::TcpListener, time::timeout};

/// More than any of these tests may take.
const LONG: Duration = Duration::from_secs(60);

fn server() -> Server {
    let card = AgentCard::new("Echo", "Repeats its input")
        .with_input_modes(["text/plain", "application/json"]);
    let agent = agent_fn(async |text: String| {
        if text == "wait" {
            std::future::pending::<()>().await;
        }
        format!("You said: {text}")
    });
    Server::from(Engine::new(card, agent))
}

async fn start(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

async fn client(address: SocketAddr, transport: Transport) -> Client {
    let builder =
        Client::builder().only([transport]).retry(RetryPolicy::NEVER).resume(RetryPolicy::NEVER);
    builder.connect(&address.to_string()).await.unwrap()
}

async fn serves_others(address: SocketAddr) {
    for transport in Transport::ALL {
        let client = client(address, transport).await;
        let said = timeout(LONG, client.send_text("hi")).await.expect("an answer");
        assert_eq!(said.unwrap(), "You said: hi", "{transport}");
    }
}

// covers: R-166
// covers: R-167
// covers: R-431
#[tokio::test]
async fn an_address_that_calls_too_often_is_refused_at_every_binding() {
    for transport in Transport::ALL {
        let rate = AddressRate::new("1/m+2".parse().unwrap());
        let address = start(server().with_address_rate(rate)).await;
        let client = client(address, transport).await;
        for _ in 0..2 {
            client.send_text("hi").await.unwrap();
        }
        let error = client.send_text("hi").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{transport}: {error}");
        assert!(error.is_transient());
        let wait = error.retry_after().unwrap_or_else(|| panic!("{transport} says when"));
        assert!(wait > Duration::from_secs(20) && wait <= Duration::from_secs(60), "{wait:?}");
        // The card is what a client needs to find out what it does wrong.
        let card = HttpClient::new(ClientSettings::default()).unwrap();
        let request = http::Request::get(format!("http://{address}/.well-known/agent-card.json"));
        let card = card.send(request.body(Bytes::new()).unwrap()).await.unwrap();
        assert_eq!(card.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn a_caller_has_its_part_at_every_binding() {
    for transport in Transport::ALL {
        let one = NonZeroUsize::new(1);
        let quota = QuotaConfig::default().with_running_tasks(one).with_open_streams(one);
        let address = start(server().with_quota(quota)).await;
        let client = client(address, transport).await;
        let stream = client.stream("wait").await.unwrap();
        for error in [
            client.send_text("hi").await.unwrap_err(),
            client.stream("hi").await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{transport}: {error}");
        }
        drop(stream);
    }
}

async fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Response<Bytes> {
    let http2 = headers.iter().any(|(_, value)| value.starts_with("application/grpc"));
    let settings = ClientSettings::default().with_http2_prior_knowledge(http2);
    let mut request = http::Request::post(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.header("a2a-version", "1.0").body(body.into()).unwrap();
    timeout(LONG, HttpClient::new(settings).unwrap().send(request))
        .await
        .expect("an answer")
        .unwrap()
}

const JSON: (&str, &str) = ("content-type", "application/json");

/// The places to which JSON is sent, and what goes around a message there.
fn places(message: &str) -> [(&'static str, String); 2] {
    let params = format!(r#"{{"message":{message}}}"#);
    let envelope =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}"#);
    [("/", envelope), ("/message:send", params)]
}

fn message(part: &str) -> String {
    format!(r#"{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}}"#)
}

#[tokio::test]
async fn json_that_is_made_to_hurt_is_refused_by_name_or_read_as_it_is() {
    let address = start(server()).await;
    let nested = |open: &str, close: &str, times: usize| {
        message(&format!(r#"{{"data":{}0{}}}"#, open.repeat(times), close.repeat(times)))
    };
    let digits = "1".repeat(100_000);
    for (what, text, refusal) in [
        ("deep arrays", nested("[", "]", 90_000), Some("recursion limit")),
        ("deeper arrays", nested("[", "]", 1_000_000), Some("more than 100000 JSON values")),
        ("deep objects", nested(r#"{"a":"#, "}", 90_000), Some("recursion limit")),
        ("an exponent", message(r#"{"data":1e999999}"#), Some("number out of range")),
        ("digits", message(&format!(r#"{{"data":{digits}}}"#)), Some("number out of range")),
        ("a small exponent", message(r#"{"data":1e-999999}"#), None),
        ("long fractions", message(&format!(r#"{{"data":0.{digits}}}"#)), None),
        ("members twice", message(r#"{"text":"a","text":"b"}"#), Some("text")),
        ("half a character", message(r#"{"text":"\ud800"}"#), Some("hex escape")),
        (
            "many names",
            message(&format!(
                r#"{{"data":{{{}}}}}"#,
                (0..99_000).map(|n| format!(r#""{n}":0"#)).collect::<Vec<_>>().join(",")
            )),
            None,
        ),
        (
            "many parts",
            message(&vec![r#"{"text":"x"}"#; 10_000].join(",")),
            Some("message.parts has more than 1000 parts"),
        ),
        (
            "too many parts",
            message(&vec![r#"{"text":"x"}"#; 100_000].join(",")),
            Some("more than 100000 JSON values"),
        ),
    ] {
        for (path, body) in places(&text) {
            let answer = post(address, path, &[JSON], body).await;
            let answer = String::from_utf8_lossy(answer.body()).into_owned();
            let shown: String = answer.chars().take(400).collect();
            match refusal {
                Some(why) => {
                    assert!(shown.contains("\"error\"") && shown.contains(why), "{what}: {shown}");
                }
                None => assert!(!shown.contains("\"error\""), "{what} at {path}: {shown}"),
            }
        }
    }
    serves_others(address).await;
}

#[tokio::test]
async fn compressed_requests_are_rejected_by_every_binding() {
    let address = start(server()).await;
    // A few bytes that would be 10 MiB.
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    for (path, _) in places("") {
        for coding in ["gzip", "br", "identity, zstd", "deflate"] {
            let answer =
                post(address, path, &[JSON, ("content-encoding", coding)], bomb.to_vec()).await;
            assert_eq!(answer.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path} {coding}");
            let text = String::from_utf8_lossy(answer.body()).into_owned();
            assert!(text.contains("compressed"), "{text}");
        }
    }
    let (path, body) = &places(&message(r#"{"text":"x"}"#))[1];
    let plain = post(address, path, &[JSON, ("content-encoding", "identity")], body.clone()).await;
    assert_eq!(plain.status(), StatusCode::OK);

    // A message that says it is compressed, with and without the name of how.
    let grpc = ("content-type", "application/grpc");
    let mut framed = vec![1, 0, 0, 0, 10];
    framed.extend(bomb);
    for headers in [&[grpc, ("grpc-encoding", "gzip")][..], &[grpc]] {
        let answer = post(address, GET_TASK, headers, framed.clone()).await;
        let status = answer.headers().get("grpc-status").map(|status| status.to_str().unwrap());
        assert!(matches!(status, Some("12" | "3")), "{status:?} {:?}", answer.headers());
    }
    serves_others(address).await;
}

const GET_TASK: &str = "/lf.a2a.v1.A2AService/GetTask";
const SEND: &str = "/lf.a2a.v1.A2AService/SendMessage";

/// A field of protobuf that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap());
    out.extend(bytes);
    out
}

#[tokio::test]
async fn deep_values_over_grpc_are_refused() {
    let address = start(server()).await;
    for depth in [200, 5_000] {
        // google.protobuf.Value: a list (6) of values (1) of lists.
        let mut value = Vec::new();
        for _ in 0..depth {
            value = field(6, &field(1, &value));
        }
        // SendMessageRequest.metadata: a Struct of one entry.
        for number in 1..=6 {
            let entry = [field(1, b"a"), field(2, &value)].concat();
            let request = field(number, &field(1, &entry));
            let mut framed = vec![0];
            framed.extend(u32::try_from(request.len()).unwrap().to_be_bytes());
            framed.extend(request);
            let headers = [("content-type", "application/grpc")];
            let answer = post(address, SEND, &headers, framed).await;
            let status = answer.headers().get("grpc-status").map(|status| status.to_str().unwrap());
            assert!(matches!(status, Some("3" | "13")), "{depth} at {number}: {status:?}");
        }
    }
    serves_others(address).await;
}

#[tokio::test]
async fn long_tenants_and_addresses_are_refused_or_looked_for() {
    let address = start(server()).await;
    let client = HttpClient::new(ClientSettings::default()).unwrap();
    for length in [1_000, 50_000, 1 << 20] {
        for path in ["/{}/tasks/x", "/tasks/{}", "/tasks?pageToken={}"] {
            let url = format!("http://{address}{}", path.replace("{}", &"t".repeat(length)));
            let request = http::Request::get(&url).header("a2a-version", "1.0");
            let Ok(request) = request.body(Bytes::new()) else { continue };
            // It may be closed before the client has sent all.
            if let Ok(answer) = timeout(LONG, client.send(request)).await.expect("an answer") {
                assert!(answer.status().is_client_error(), "{path} {length}: {}", answer.status());
            }
        }
    }
    serves_others(address).await;
}
