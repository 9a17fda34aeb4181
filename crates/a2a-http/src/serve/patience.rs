//! A socket that does not wait for ever for its peer to read.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// How much a peer has to take in the time that a write may take, in bytes: one that takes a byte
/// now and then is no better than one that takes none.
const MIN_PROGRESS: usize = 16 << 10;

/// A socket whose writes fail when the peer has read next to nothing for too long.
#[derive(Debug)]
pub(super) struct Patient<I> {
    io: I,
    patience: Duration,
    /// Set while there is something that the peer has not taken.
    waiting: Option<Pin<Box<Sleep>>>,
    taken: usize,
}

impl<I> Patient<I> {
    pub(super) fn new(io: I, patience: Duration) -> Self {
        Self { io, patience, waiting: None, taken: 0 }
    }

    pub(super) fn get_ref(&self) -> &I {
        &self.io
    }

    pub(super) fn into_inner(self) -> I {
        self.io
    }

    fn note(&mut self, cx: &mut Context<'_>, written: &Poll<io::Result<usize>>) -> Poll<()> {
        match written {
            Poll::Ready(Ok(count)) => {
                self.taken = self.taken.saturating_add(*count);
                Poll::Pending
            }
            Poll::Ready(Err(_)) => Poll::Pending,
            Poll::Pending => self.poll_patience(cx),
        }
    }

    /// Ready when it has lasted too long.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = self.waiting.get_or_insert_with(|| {
            self.taken = 0;
            Box::pin(sleep(self.patience))
        });
        while waiting.as_mut().poll(cx).is_ready() {
            if self.taken < MIN_PROGRESS {
                return Poll::Ready(());
            }
            self.taken = 0;
            waiting.as_mut().reset(Instant::now() + self.patience);
        }
        Poll::Pending
    }
}

fn given_up() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the peer does not read what it asked for")
}

impl<I: AsyncRead + Unpin> AsyncRead for Patient<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Patient<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        if self.note(cx, &written).is_ready() { Poll::Ready(Err(given_up())) } else { written }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, pieces);
        if self.note(cx, &written).is_ready() { Poll::Ready(Err(given_up())) } else { written }
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        if flushed.is_ready() {
            // Whoever flushes has written all that there was.
            self.waiting = None;
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_given_up_and_one_that_reads_is_not() {
        let (server, mut client) = duplex(64 << 10);
        let mut server = Patient::new(server, PATIENCE);
        let begun = Instant::now();
        let error = server.write_all(&vec![0; 1 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 10);

        // Reading goes on for ten times as long, and is fast enough.
        let (server, reader) = duplex(64 << 10);
        drop(std::mem::replace(&mut client, reader));
        let mut server = Patient::new(server, PATIENCE);
        let reading = tokio::spawn(async move {
            let mut buffer = vec![0; 32 << 10];
            let mut read = 0;
            while let Ok(count @ 1..) = client.read(&mut buffer).await {
                read += count;
                sleep(PATIENCE / 2).await;
            }
            read
        });
        server.write_all(&vec![0; 1 << 20]).await.unwrap();
        server.flush().await.unwrap();
        drop(server);
        assert_eq!(reading.await.unwrap(), 1 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_a_byte_now_and_then_is_given_up() {
        let (server, mut client) = duplex(1 << 10);
        let mut server = Patient::new(server, PATIENCE);
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
