//! A server that records requests byte for byte.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use crate::socket::text;

/// The relevant request headers, in this order.
const HEADERS: [&str; 10] = [
    "content-type",
    "accept",
    "a2a-version",
    "a2a-extensions",
    "a2a-budget",
    "traceparent",
    "last-event-id",
    "idempotency-key",
    "authorization",
    "x-a2a-notification-token",
];

/// Listens, gives every request the same response, and passes on the request.
pub(crate) async fn recorder(answer: &'static str) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(record(stream, answer, sender.clone()));
        }
    });
    (url, receiver)
}

async fn record(
    mut stream: TcpStream,
    answer: &'static str,
    sender: mpsc::UnboundedSender<String>,
) {
    let mut unread = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            match stream.read_buf(&mut unread).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let head = text(&unread[..end]);
        let header = |name: &str| {
            let line = head.lines().skip(1).find(|line| {
                line.split_once(':').is_some_and(|(known, _)| known.eq_ignore_ascii_case(name))
            });
            line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
        };
        let length = header("content-length").map_or(0, |length| length.parse().expect("a length"));
        while unread.len() < end + 4 + length {
            stream.read_buf(&mut unread).await.expect("the rest of the body");
        }
        let mut request = head.lines().next().expect("a request line").to_owned();
        for name in HEADERS {
            if let Some(value) = header(name) {
                request.push_str(&format!("\n{name}: {value}"));
            }
        }
        request.push_str("\n\n");
        request.push_str(&text(&unread[end + 4..end + 4 + length]));
        unread.drain(..end + 4 + length);
        let _ = sender.send(request);
        let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.expect("sent");
    }
}
