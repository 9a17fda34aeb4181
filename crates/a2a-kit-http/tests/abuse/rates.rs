//! Rate limits per address.

use a2a_kit_http::{Limits, rate::AddressRate};
use axum::{Router, routing::post};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::support::{connect, read_to_end, serves_others, start};

async fn post_with(stream: &mut TcpStream, headers: &str) -> String {
    let head = format!(
        "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n{headers}\r\n{{}}"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    String::from_utf8(read_to_end(stream).await).unwrap()
}

#[tokio::test]
async fn address_beyond_its_rate_gets_429_with_retry_after() {
    let proxies = ["127.0.0.0/8".parse().unwrap()];
    let rate = AddressRate::new("1/m+3".parse().unwrap()).with_proxies(proxies);
    let bindings = rate.layer(Router::new().route("/", post(async || "called")));
    let address = start(bindings, Limits::default()).await;
    for client in ["", "x-forwarded-for: 192.0.2.1\r\n", "x-forwarded-for: 2001:db8::1\r\n"] {
        for _ in 0..3 {
            assert!(post_with(&mut connect(address).await, client).await.ends_with("called"));
        }
        for _ in 0..100 {
            let response = post_with(&mut connect(address).await, client).await;
            assert!(response.starts_with("HTTP/1.1 429 "), "{response}");
            let wait = response.lines().find_map(|line| line.strip_prefix("retry-after: "));
            let wait: u64 = wait.expect("a retry-after header").parse().unwrap();
            assert!((30..=60).contains(&wait), "{wait}");
        }
    }
    // Routes outside the layer are not limited.
    serves_others(address).await;
    // Addresses of one /64 network share a limit.
    let response = post_with(&mut connect(address).await, "x-forwarded-for: 2001:db8::2\r\n").await;
    assert!(response.starts_with("HTTP/1.1 429 "), "{response}");
}

#[tokio::test]
async fn rate_limit_error_has_the_format_of_the_binding() {
    let rate = AddressRate::new("1/h".parse().unwrap());
    let bindings = rate.layer(
        Router::new().route("/", post(async || "")).route("/message:send", post(async || "")),
    );
    let address = start(bindings, Limits::default()).await;
    assert!(post_with(&mut connect(address).await, "").await.starts_with("HTTP/1.1 200 "));
    let jsonrpc = post_with(&mut connect(address).await, "").await;
    assert!(jsonrpc.starts_with("HTTP/1.1 429 "), "{jsonrpc}");
    assert!(
        jsonrpc.contains(r#""jsonrpc":"2.0""#) && jsonrpc.contains("RESOURCE_EXHAUSTED"),
        "{jsonrpc}"
    );
    let grpc = post_with(&mut connect(address).await, "content-type: application/grpc\r\n").await;
    assert!(grpc.starts_with("HTTP/1.1 200 ") && grpc.contains("grpc-status: 8"), "{grpc}");
}
