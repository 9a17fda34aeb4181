//! Raw HTTP/1.1, for tests of exact bytes.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// Timeout, far longer than any test takes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One persistent connection.
pub(crate) struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// The head of a response.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: String,
    /// Names in lower case, each once.
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Self { stream, unread: Vec::new() }
    }

    /// Sends a raw request, adding `Host` and a missing `Content-Length`.
    pub(crate) async fn send(&mut self, head: &str, body: &[u8]) {
        let mut lines = head.lines();
        let mut bytes = format!("{}\r\nhost: {HOST}\r\n", lines.next().expect("a request line"));
        let mut has_length = false;
        for line in lines {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            has_length |= matches!(&*name, "content-length" | "transfer-encoding");
            bytes.push_str(line);
            bytes.push_str("\r\n");
        }
        if !has_length && (!body.is_empty() || head.starts_with("POST")) {
            bytes.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        bytes.push_str("\r\n");
        let mut bytes = bytes.into_bytes();
        bytes.extend_from_slice(body);
        timeout(TIMEOUT, self.stream.write_all(&bytes)).await.expect("in time").expect("sent");
    }

    /// Reads a complete response; that of HEAD has no body.
    pub(crate) async fn receive(&mut self, to_head: bool) -> (Head, Vec<u8>) {
        let head = self.receive_head().await;
        let empty = to_head || head.status.contains(" 304 ") || head.status.contains(" 204 ");
        let mut body = Vec::new();
        if empty {
        } else if head.is_chunked() {
            while let Some(chunk) = self.chunk().await {
                body.extend_from_slice(&chunk);
            }
        } else {
            let length = head.header("content-length").expect("a length").parse().expect("one");
            body = self.take(length).await;
        }
        (head, body)
    }

    pub(crate) async fn receive_head(&mut self) -> Head {
        loop {
            let text = self.line().await;
            let mut headers: Vec<(String, String)> = Vec::new();
            loop {
                let line = self.line().await;
                if line.is_empty() {
                    break;
                }
                let (name, value) = line.split_once(':').expect("a header");
                let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
                match headers.iter_mut().find(|(known, _)| *known == name) {
                    // Several lines of one name are one list (RFC 9110 §5.3).
                    Some((_, list)) => *list = format!("{list}, {value}"),
                    None => headers.push((name, value)),
                }
            }
            if !text.starts_with("HTTP/1.1 100") {
                return Head { status: text, headers };
            }
        }
    }

    /// The next chunk of a chunked body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.line().await;
        let length = usize::from_str_radix(line.trim(), 16).expect("the size of a chunk");
        let chunk = self.take(length).await;
        assert_eq!(self.line().await, "", "a chunk ends with a line break");
        (length > 0).then_some(chunk)
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.take(end + 2).await;
                return String::from_utf8(line[..end].to_vec()).expect("text");
            }
            self.fill().await;
        }
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            self.fill().await;
        }
        let rest = self.unread.split_off(length);
        std::mem::replace(&mut self.unread, rest)
    }

    async fn fill(&mut self) {
        let read = timeout(TIMEOUT, self.stream.read_buf(&mut self.unread));
        let count = read.await.expect("an answer in time").expect("an open connection");
        assert_ne!(count, 0, "the connection was closed after {:?}", text(&self.unread));
    }
}

/// The `Host` of every request.
pub(crate) const HOST: &str = "agent.example";

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
