//! A server with canned responses of other implementations.

use std::collections::VecDeque;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// A server that sends its canned responses in order, one for each request.
pub struct Canned {
    pub url: String,
    requests: mpsc::UnboundedReceiver<String>,
}

impl Canned {
    pub async fn serve(responses: impl IntoIterator<Item = String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, requests) = mpsc::unbounded_channel();
        let mut responses: VecDeque<String> = responses.into_iter().collect();
        tokio::spawn(async move {
            while let Some(response) = responses.pop_front() {
                let (mut stream, _) = listener.accept().await.unwrap();
                seen.send(read_request(&mut stream).await).unwrap();
                stream.write_all(response.as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self { url, requests }
    }

    /// Returns the next request: its head and its body.
    pub async fn request(&mut self) -> (String, String) {
        let request = self.requests.recv().await.unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                })
                .unwrap_or(0_usize);
            if body.len() >= length {
                return text;
            }
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "incomplete request: {text}");
    }
}

/// Formats an HTTP/1.1 response that closes the connection.
pub fn answer(status: u16, content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Whatever\r\ncontent-type: {content_type}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

pub fn json(status: u16, body: &str) -> String {
    answer(status, "application/json; charset=utf-8", body)
}

pub fn sse(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}
