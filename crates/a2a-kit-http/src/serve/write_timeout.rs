//! A write timeout for a socket.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, Sleep, sleep},
};

use crate::forward_io::forward_io;

/// Bytes that a peer has to accept within the timeout: reading a byte now and then does not keep
/// the connection open.
const MIN_PROGRESS: usize = 16 << 10;

/// A socket whose writes fail when the peer accepts too few bytes within the timeout.
#[derive(Debug)]
pub(super) struct WriteTimeout<I> {
    pub(super) io: I,
    timeout: Duration,
    /// Set while there are bytes that the peer has not accepted.
    timer: Option<Pin<Box<Sleep>>>,
    accepted: usize,
}

impl<I> WriteTimeout<I> {
    pub(super) fn new(io: I, timeout: Duration) -> Self {
        Self { io, timeout, timer: None, accepted: 0 }
    }

    /// Passes on the result of a write, or fails on timeout.
    fn record(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = &written {
            self.accepted = self.accepted.saturating_add(*count);
        }
        if written.is_pending() && self.poll_timeout(cx).is_ready() {
            let reason = "write timeout: the peer is not reading";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, reason)));
        }
        written
    }

    /// Ready when the peer has made too little progress within the timeout.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| {
            self.accepted = 0;
            Box::pin(sleep(self.timeout))
        });
        while timer.as_mut().poll(cx).is_ready() {
            if self.accepted < MIN_PROGRESS {
                return Poll::Ready(());
            }
            self.accepted = 0;
            timer.as_mut().reset(Instant::now() + self.timeout);
        }
        Poll::Pending
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for WriteTimeout<I> {
    forward_io!(io: poll_read);
}

impl<I: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.record(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.record(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        if flushed.is_ready() {
            // A flush is complete when all bytes are written.
            self.timer = None;
        }
        flushed
    }

    forward_io!(io: is_write_vectored, poll_shutdown);
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn write_times_out_only_if_the_peer_stops_reading() {
        let (server, mut client) = duplex(64 << 10);
        let mut server = WriteTimeout::new(server, TIMEOUT);
        let begun = Instant::now();
        let error = server.write_all(&vec![0; 1 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 10);

        // Takes ten times as long as the timeout, at a sufficient rate.
        let (server, reader) = duplex(64 << 10);
        drop(std::mem::replace(&mut client, reader));
        let mut server = WriteTimeout::new(server, TIMEOUT);
        let reading = tokio::spawn(async move {
            let mut buffer = vec![0; 32 << 10];
            let mut read = 0;
            while let Ok(count @ 1..) = client.read(&mut buffer).await {
                read += count;
                sleep(TIMEOUT / 2).await;
            }
            read
        });
        server.write_all(&vec![0; 1 << 20]).await.unwrap();
        server.flush().await.unwrap();
        drop(server);
        assert_eq!(reading.await.unwrap(), 1 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn write_times_out_if_the_peer_reads_single_bytes() {
        let (server, mut client) = duplex(1 << 10);
        let mut server = WriteTimeout::new(server, TIMEOUT);
        let reading = tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                sleep(Duration::from_millis(100)).await;
            }
        });
        let error = server.write_all(&vec![0; 1 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(server);
        reading.await.unwrap();
    }
}
