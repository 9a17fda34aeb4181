//! Traces, metrics and logs reach one collector.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use a2a_kit_telemetry::{Config, Otlp};

type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A collector that accepts everything.
fn collector() -> (String, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let received = Received::default();
    let store = Arc::clone(&received);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let store = Arc::clone(&store);
            thread::spawn(move || serve(stream.unwrap(), &store));
        }
    });
    (url, received)
}

fn serve(mut stream: TcpStream, received: &Received) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut path, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("POST ") {
                path = rest.split(' ').next().unwrap().to_owned();
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        received.lock().unwrap().push((path, body));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_metrics_and_logs_are_exported_by_the_end() {
    let (url, received) = collector();
    let otlp = Otlp::to(url).with_metrics(true).with_logs(true);
    let config = Config::default().with_metrics(true).with_otlp(Some(otlp));
    let guard = a2a_kit_telemetry::init(config).unwrap();
    tracing::info_span!("planted-span").in_scope(|| tracing::info!("planted-line"));
    metrics::counter!("planted_total").increment(3);
    guard.shutdown().await;
    let received = received.lock().unwrap();
    let has = |path: &str, text: &str| {
        let contains = |body: &[u8]| body.windows(text.len()).any(|part| part == text.as_bytes());
        received.iter().any(|(to, body)| to == path && contains(body))
    };
    for (path, text) in [
        ("/v1/traces", "planted-span"),
        ("/v1/logs", "planted-line"),
        ("/v1/metrics", "planted_total"),
        ("/v1/metrics", "process_start_time_seconds"),
        ("/v1/metrics", "a2a_refused_total"),
    ] {
        let paths: Vec<_> = received.iter().map(|(path, body)| (path, body.len())).collect();
        assert!(has(path, text), "{text} in {paths:?}");
    }
}
