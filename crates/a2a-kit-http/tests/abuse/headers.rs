//! Oversized and malformed request heads.

use a2a_kit_http::{
    Limits,
    client::{ClientSettings, HttpClient},
};
use axum::Router;
use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;

use crate::support::{connect, read_to_end, serves_others, start};

#[tokio::test]
async fn oversized_uri_or_head_is_rejected() {
    let address = start(Router::new(), Limits::default()).await;
    let many = (0..10_000).map(|number| format!("x-{number}: 1\r\n")).collect::<String>();
    for (what, head) in [
        ("a long URI", format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(1 << 20))),
        (
            "a long header",
            format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "x".repeat(1 << 20)),
        ),
        ("many headers", format!("GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n")),
        ("no HTTP", "\u{1}\u{2}\u{3}\r\n\r\n".to_owned()),
    ] {
        let mut stream = connect(address).await;
        // The server may close the connection before all is sent.
        drop(stream.write_all(head.as_bytes()).await);
        let response = String::from_utf8_lossy(&read_to_end(&mut stream).await).into_owned();
        let refused = ["HTTP/1.1 400 ", "HTTP/1.1 414 ", "HTTP/1.1 431 "];
        let is_refused = refused.iter().any(|status| response.starts_with(status));
        assert!(response.is_empty() || is_refused, "{what}: {response}");
    }
    serves_others(address).await;
}

/// hyper limits its buffer, which holds larger heads.
#[tokio::test]
async fn head_that_fits_into_the_buffer_but_exceeds_the_limit_is_rejected() {
    let address = start(Router::new(), Limits::default()).await;
    for (bytes, status) in
        [(60_000, "HTTP/1.1 404 "), (70_000, "HTTP/1.1 431 "), (100_000, "HTTP/1.1 431 ")]
    {
        let mut stream = connect(address).await;
        let field = "x".repeat(bytes);
        let head =
            format!("GET /none HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx: {field}\r\n\r\n");
        // The server may respond before it has read everything.
        let _ = stream.write_all(head.as_bytes()).await;
        let response = String::from_utf8(read_to_end(&mut stream).await).unwrap();
        assert!(response.starts_with(status), "{bytes}: {response}");
    }
}

#[tokio::test]
async fn missing_repeated_or_malformed_host_returns_400() {
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
        let response = String::from_utf8_lossy(&read_to_end(&mut stream).await).into_owned();
        assert_eq!(response.split(' ').nth(1), Some(status), "{hosts:?}: {response}");
    }
    serves_others(address).await;
}

#[tokio::test]
async fn oversized_http2_head_is_rejected() {
    let address = start(Router::new(), Limits::default()).await;
    let settings = ClientSettings::default().with_http2_prior_knowledge(true);
    let client = HttpClient::new(settings).unwrap();
    let request = http::Request::get(format!("http://{address}/normal"));
    let request = request.header("x", "x".repeat(100 << 10)).body(Bytes::new()).unwrap();
    // By the server, or by the client, which knows the limit from the settings.
    if let Ok(response) = client.send(request).await {
        assert_eq!(response.status(), 431);
    }
    serves_others(address).await;
}
