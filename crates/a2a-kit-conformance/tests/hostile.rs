//! Agents that try to hang or exhaust the checks.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::time::Duration;

use a2a_kit_conformance::Conformance;
use a2a_kit_lint::Outcome;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What an agent answers to everything but the request for its card.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// Nothing, with the connection open.
    Silence,
    /// Events of a stream that never ends.
    EndlessStream,
    /// A body that never ends.
    EndlessBody,
    /// Bytes that are no HTTP.
    Garbage,
    /// JSON of a thousand levels.
    DeepJson,
}

async fn serve(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let url = format!("http://{address}");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, answer, url.clone()));
        }
    });
    address
}

/// Answers one request; a client that breaks off ends it.
async fn talk(mut stream: TcpStream, answer: Answer, url: String) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(&chunk[..count]);
    }
    let respond = |media_type: &str, body: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nconnection: close\r\n\r\n{body}")
    };
    if head.starts_with(b"GET /.well-known") {
        let card = format!(
            r#"{{"name": "x", "description": "", "version": "1", "skills": [],
                "capabilities": {{"streaming": true}}, "defaultInputModes": [],
                "defaultOutputModes": [], "supportedInterfaces": [
                {{"url": "{url}", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
                {{"url": "{url}", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}},
                {{"url": "{url}", "protocolBinding": "GRPC", "protocolVersion": "1.0"}}]}}"#
        );
        return stream.write_all(respond("application/json", &card).as_bytes()).await;
    }
    match answer {
        Answer::Silence => std::future::pending().await,
        Answer::EndlessStream => {
            stream.write_all(respond("text/event-stream", "").as_bytes()).await?;
            loop {
                stream.write_all(b"data: {\"result\": {}}\n\n").await?;
            }
        }
        Answer::EndlessBody => {
            stream.write_all(respond("application/json", "[").as_bytes()).await?;
            loop {
                stream.write_all(&[b' '; 4096]).await?;
            }
        }
        Answer::Garbage => stream.write_all(&[0; 64]).await,
        Answer::DeepJson => {
            let body = respond("application/json", &"[".repeat(1000));
            stream.write_all(body.as_bytes()).await
        }
    }
}

#[tokio::test]
async fn hostile_agents_neither_hang_nor_exhaust_the_checks() {
    for answer in [
        Answer::Silence,
        Answer::EndlessStream,
        Answer::EndlessBody,
        Answer::Garbage,
        Answer::DeepJson,
    ] {
        let target = serve(answer).await;
        let mut conformance = Conformance::builder();
        conformance.request_timeout = Duration::from_millis(500);
        let run = conformance.run(&target, |_| {});
        // A generous limit, to tell a hang.
        let report = tokio::time::timeout(Duration::from_secs(120), run).await.unwrap().unwrap();
        let of_interfaces = report.results.iter().filter(|one| one.url.is_some());
        for result in of_interfaces {
            let is_passed = matches!(result.outcome, Outcome::Pass);
            // What such an agent does right is to answer no success.
            assert!(!is_passed || result.rule.id != "R-018", "{answer:?}: {result:?}");
        }
        assert!(!report.is_conformant(), "{answer:?}: {}", report.to_text());
    }
}
