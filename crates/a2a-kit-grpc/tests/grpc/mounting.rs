//! The service and other routes on one port.

use a2a_core::v1::GetTaskRequest;
use a2a_kit_grpc::operations::{Agent as _, Call};
use axum::{Router, routing::post};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::fake::{Fake, Served};

/// Posts over HTTP/1.1 and returns the whole response.
async fn post_http1(served: &Served, path: &str, content_type: &str) -> String {
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n\
         Content-Length: 5\r\nConnection: close\r\n\r\nhello"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn http_1_and_grpc_share_a_port() {
    let agent = Fake::default();
    // A router with its own fallback can be merged.
    let app = Router::new()
        .route("/echo", post(async |body: String| body))
        .fallback(a2a_kit_grpc::fallback)
        .merge(a2a_kit_grpc::router(agent.clone()));
    let served = Served::mounted(agent, app).await;

    let answer = post_http1(&served, "/echo", "text/plain").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
    let get = GetTaskRequest { id: "t1".into(), ..Default::default() };
    served.client().get_task(Call::new(get)).await.unwrap();
    let answer = post_http1(&served, "/nothing", "text/plain").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn body_that_is_not_grpc_is_an_unsupported_media_type() {
    let served = Served::new().await;
    let path = "/lf.a2a.v1.A2AService/GetTask";
    let answer = post_http1(&served, path, "application/json").await;
    assert!(answer.starts_with("HTTP/1.1 415"), "{answer}");
    assert!(served.agent.asked().is_empty());
}
