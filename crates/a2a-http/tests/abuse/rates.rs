//! Addresses that call too often.

use a2a_http::{Limits, rate::AddressRate};
use axum::{Router, routing::post};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::running::{connect, read_to_end, serves_others, start};

async fn ask(stream: &mut TcpStream, headers: &str) -> String {
    let head = format!(
        "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n{headers}\r\n{{}}"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    String::from_utf8(read_to_end(stream).await).unwrap()
}

#[tokio::test]
async fn an_address_that_calls_too_often_is_told_when_to_come_back() {
    let proxies = ["127.0.0.0/8".parse().unwrap()];
    let rate = AddressRate::new("1/m+3".parse().unwrap()).with_proxies(proxies);
    let bindings = rate.layer(Router::new().route("/", post(async || "called")));
    let address = start(bindings, Limits::default()).await;
    for client in ["", "x-forwarded-for: 192.0.2.1\r\n", "x-forwarded-for: 2001:db8::1\r\n"] {
        for _ in 0..3 {
            assert!(ask(&mut connect(address).await, client).await.ends_with("called"));
        }
        for _ in 0..100 {
            let answer = ask(&mut connect(address).await, client).await;
            assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
            let wait = answer.lines().find_map(|line| line.strip_prefix("retry-after: "));
            let wait: u64 = wait.expect("when to come back").parse().unwrap();
            assert!((30..=60).contains(&wait), "{wait}");
        }
    }
    // What is not behind the rate is not held to it.
    serves_others(address).await;
    // Another address of the same network is no other.
    let answer = ask(&mut connect(address).await, "x-forwarded-for: 2001:db8::2\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
}

#[tokio::test]
async fn a_refusal_has_the_form_of_its_binding() {
    let rate = AddressRate::new("1/h".parse().unwrap());
    let bindings = rate.layer(
        Router::new().route("/", post(async || "")).route("/message:send", post(async || "")),
    );
    let address = start(bindings, Limits::default()).await;
    assert!(ask(&mut connect(address).await, "").await.starts_with("HTTP/1.1 200 "));
    let jsonrpc = ask(&mut connect(address).await, "").await;
    assert!(jsonrpc.starts_with("HTTP/1.1 429 "), "{jsonrpc}");
    assert!(
        jsonrpc.contains(r#""jsonrpc":"2.0""#) && jsonrpc.contains("RESOURCE_EXHAUSTED"),
        "{jsonrpc}"
    );
    let grpc = ask(&mut connect(address).await, "content-type: application/grpc\r\n").await;
    assert!(grpc.starts_with("HTTP/1.1 200 ") && grpc.contains("grpc-status: 8"), "{grpc}");
}
