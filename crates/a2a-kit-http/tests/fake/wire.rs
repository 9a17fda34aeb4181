//! A client that shows raw responses.

use std::fmt::Write as _;

use a2a_kit_http::HttpServer;
use axum::Router;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Serves a router on an unused port, and returns its address.
pub async fn serve(router: Router) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(HttpServer::new(router).serve(listener, std::future::pending()));
    address
}

/// A keep-alive connection.
pub struct Connection {
    stream: TcpStream,
    address: String,
    unread: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Formats the response for a golden file: status, relevant headers, body.
    pub fn shown(&self) -> String {
        let mut text = format!("HTTP {}\n", self.status);
        let names = ["allow", "www-authenticate", "retry-after", "a2a-extensions", "content-type"];
        for name in names {
            if let Some(value) = self.header(name) {
                writeln!(text, "{name}: {value}").unwrap();
            }
        }
        format!("{text}\n{}\n", hide_error_id(&self.body))
    }
}

impl Connection {
    pub async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self { stream, address: address.to_owned(), unread: Vec::new() }
    }

    /// Sends a request: `request` is the request line without the version, `headers` are lines.
    pub async fn ask(&mut self, request: &str, headers: &[&str], body: &str) -> Got {
        let mut head = format!("{request} HTTP/1.1\r\nhost: {}\r\n", self.address);
        for header in headers {
            write!(head, "{header}\r\n").unwrap();
        }
        write!(head, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.stream.write_all(head.as_bytes()).await.unwrap();
        self.read().await
    }

    async fn read(&mut self) -> Got {
        let head = self.until("\r\n\r\n").await;
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: HeaderMap = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| {
                (HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap())
            })
            .collect();
        let body = match headers.get("content-length") {
            Some(length) => self.take(length.to_str().unwrap().parse().unwrap()).await,
            None => self.chunks().await,
        };
        Got { status, headers, body }
    }

    async fn chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            let size = self.until("\r\n").await;
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            body.push_str(&self.take(size).await);
            self.until("\r\n").await;
            if size == 0 {
                return body;
            }
        }
    }

    async fn until(&mut self, end: &str) -> String {
        loop {
            let found = self.unread.windows(end.len()).position(|bytes| bytes == end.as_bytes());
            if let Some(position) = found {
                return self.take(position + end.len()).await;
            }
            self.more().await;
        }
    }

    async fn take(&mut self, length: usize) -> String {
        while self.unread.len() < length {
            self.more().await;
        }
        let rest = self.unread.split_off(length);
        String::from_utf8(std::mem::replace(&mut self.unread, rest)).unwrap()
    }

    async fn more(&mut self) {
        let count = self.stream.read_buf(&mut self.unread).await.unwrap();
        assert_ne!(count, 0, "the server closed the connection");
    }
}

/// Replaces the error id, which differs in each run.
pub fn hide_error_id(body: &str) -> String {
    let Some((before, after)) = body.split_once("\"errorId\":\"") else { return body.to_owned() };
    let (_, after) = after.split_once('"').unwrap();
    format!("{before}\"errorId\":\"…\"{after}")
}
