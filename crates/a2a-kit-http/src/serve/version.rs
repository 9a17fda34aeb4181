//! Detects the HTTP version of a connection from its first bytes.
//!
//! hyper-util has its own detection, but passes only the 24 bytes that it inspected to hyper: the
//! request head is then incomplete, and hyper doubles its buffer to 16 KiB to read the rest.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes, BytesMut};
use http::Version;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::forward_io::forward_io;

/// Connection preface of HTTP/2 (RFC 9113 §3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Size of the first read, in bytes: the initial buffer size of hyper.
const FIRST_READ: usize = 8 << 10;

/// Reads until the version is known. An early end of the connection is left to hyper.
pub(super) async fn detect<I: AsyncRead + Unpin>(mut io: I) -> io::Result<(Version, Prefixed<I>)> {
    let mut prefix = BytesMut::with_capacity(FIRST_READ);
    loop {
        let has_ended = io.read_buf(&mut prefix).await? == 0;
        let known = prefix.len().min(PREFACE.len());
        let version = match prefix[..known] == PREFACE[..known] {
            true if known == PREFACE.len() => Version::HTTP_2,
            true if !has_ended => continue,
            _ => Version::HTTP_11,
        };
        return Ok((version, Prefixed { prefix: prefix.freeze(), io }));
    }
}

/// A connection with a prefix that was already read.
#[derive(Debug)]
pub(super) struct Prefixed<I> {
    prefix: Bytes,
    io: I,
}

impl<I: AsyncRead + Unpin> AsyncRead for Prefixed<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buffer);
        }
        let count = self.prefix.len().min(buffer.remaining());
        buffer.put_slice(&self.prefix[..count]);
        self.prefix.advance(count);
        if self.prefix.is_empty() {
            // An empty slice would keep the buffer allocated for the life of the connection.
            self.prefix = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Prefixed<I> {
    forward_io!(io: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use futures_util::poll;
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn version_is_detected_and_every_byte_is_still_read() {
        let http2 = [PREFACE, &[0; 100]].concat();
        for (sent, version) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], Version::HTTP_11),
            (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", Version::HTTP_11),
            (b"PRI * HT", Version::HTTP_11),
            (b"", Version::HTTP_11),
            (&http2, Version::HTTP_2),
        ] {
            let (detected, mut stream) = detect(Cursor::new(sent)).await.unwrap();
            assert_eq!(detected, version, "{sent:?}");
            let mut read = Vec::new();
            stream.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, sent);
        }
    }

    #[tokio::test]
    async fn preface_in_single_bytes_is_detected_at_its_last_byte() {
        let (mut client, server) = duplex(64);
        let mut detection = Box::pin(detect(server));
        for byte in &PREFACE[..PREFACE.len() - 1] {
            client.write_all(&[*byte]).await.unwrap();
            assert!(poll!(&mut detection).is_pending());
        }
        client.write_all(&PREFACE[PREFACE.len() - 1..]).await.unwrap();
        assert_eq!(detection.await.unwrap().0, Version::HTTP_2);
    }

    #[tokio::test]
    async fn first_read_is_bounded() {
        let long = vec![b'x'; 3 * FIRST_READ];
        let (_, stream) = detect(Cursor::new(&long[..])).await.unwrap();
        assert_eq!(stream.prefix.len(), FIRST_READ);
    }
}
