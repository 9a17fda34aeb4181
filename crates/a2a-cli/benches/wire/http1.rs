//! A client of HTTP/1.1 that costs next to nothing: the same bytes again and again.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use memchr::memmem;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::case::Case;

/// A connection of its own.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: BytesMut,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("it is a socket");
        Self { stream, buffer: BytesMut::with_capacity(64 << 10) }
    }

    /// Asks once, and looks at the answer.
    pub(crate) async fn ask(&mut self, request: &Bytes, case: &Case) {
        self.stream.write_all(request).await.expect("the server reads");
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.expect("the server answers");
            assert!(read > 0, "the server ended: {:?}", self.buffer);
            if is_whole(&self.buffer) {
                break;
            }
        }
        check(&self.buffer, case);
    }

    /// The answer to a request, whatever it is.
    pub(crate) fn last(&self) -> &[u8] {
        &self.buffer
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = memmem::find(answer, b"\r\n\r\n") else { return false };
    let head = &answer[..end];
    match memmem::find(head, b"content-length: ") {
        Some(start) => {
            let digits = head[start + 16..].iter().take_while(|byte| byte.is_ascii_digit());
            let length = digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
            answer.len() >= end + 4 + length
        }
        None => answer.ends_with(b"\r\n0\r\n\r\n"),
    }
}

fn check(answer: &[u8], case: &Case) {
    let text = || String::from_utf8_lossy(&answer[..answer.len().min(2_000)]).into_owned();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}: {}", case.name(), text());
    assert!(memmem::find(answer, case.mark()).is_some(), "{}: {}", case.name(), text());
    let events = memmem::find_iter(answer, b"data: {").count().max(1);
    assert_eq!(events, case.events(), "{}: {}", case.name(), text());
}
