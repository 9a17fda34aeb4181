//! Heads of requests that are too much.

use a2a_http::{
    Limits,
    client::{ClientSettings, HttpClient},
};
use axum::Router;
use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;

use crate::running::{connect, read_to_end, serves_others, start};

#[tokio::test]
async fn an_address_or_a_head_that_is_too_long_is_refused() {
    let address = start(Router::new(), Limits::default()).await;
    let many = (0..10_000).map(|number| format!("x-{number}: 1\r\n")).collect::<String>();
    for (what, head) in [
        ("a long address", format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(1 << 20))),
        (
            "a long header",
            format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "x".repeat(1 << 20)),
        ),
        ("many headers", format!("GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n")),
        ("no HTTP", "\u{1}\u{2}\u{3}\r\n\r\n".to_owned()),
    ] {
        let mut stream = connect(address).await;
        // It may be closed before all is sent.
        drop(stream.write_all(head.as_bytes()).await);
        let answer = String::from_utf8_lossy(&read_to_end(&mut stream).await).into_owned();
        let refused = ["HTTP/1.1 400 ", "HTTP/1.1 414 ", "HTTP/1.1 431 "];
        let is_refused = refused.iter().any(|status| answer.starts_with(status));
        assert!(answer.is_empty() || is_refused, "{what}: {answer}");
    }
    serves_others(address).await;
}

#[tokio::test]
async fn a_request_with_no_host_two_hosts_or_a_malformed_one_is_a_bad_request() {
    let address = start(Router::new(), Limits::default()).await;
    for (version, hosts, status) in [
        ("1.1", "host: a\r\n", "200"),
        ("1.1", "", "400"),
        ("1.1", "host: a\r\nhost: a\r\n", "400"),
        ("1.1", "host: a b\r\n", "400"),
        ("1.1", "host:\r\n", "400"),
        ("1.0", "", "200"),
    ] {
        let mut stream = connect(address).await;
        let close = if status == "200" { "connection: close\r\n" } else { "" };
        let head = format!("GET /normal HTTP/{version}\r\n{hosts}{close}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = String::from_utf8_lossy(&read_to_end(&mut stream).await).into_owned();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{hosts:?}: {answer}");
    }
    serves_others(address).await;
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_over_http2_too() {
    let address = start(Router::new(), Limits::default()).await;
    let settings = ClientSettings::default().with_http2_prior_knowledge(true);
    let client = HttpClient::new(settings).unwrap();
    let request = http::Request::get(format!("http://{address}/normal"));
    let request = request.header("x", "x".repeat(100 << 10)).body(Bytes::new()).unwrap();
    // Said by the server, or found out by the client, which knows the bound.
    if let Ok(answer) = client.send(request).await {
        assert_eq!(answer.status(), 431);
    }
    serves_others(address).await;
}
