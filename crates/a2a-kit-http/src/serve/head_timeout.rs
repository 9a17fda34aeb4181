//! The read timeout of request heads, and the idle timeout of HTTP/1.1 connections.
//!
//! hyper has one timeout for both. Idle connections have to outlast those of load balancers, which
//! otherwise send requests on connections that are about to close; slow heads don't.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use super::activity::Activity;
use crate::{Limits, forward_io::forward_io};

/// A connection that ends when it has been idle for too long, or when a request head takes too long.
#[derive(Debug)]
pub(super) struct HeadTimeout<I> {
    io: I,
    limits: Arc<Limits>,
    activity: Arc<Activity>,
    /// The number of requests before the current head, and when it was first found incomplete.
    head: Option<(u32, Option<Instant>)>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether the timer will wake the task, whose waker stays the same.
    is_registered: bool,
}

impl<I> HeadTimeout<I> {
    pub(super) fn new(io: I, limits: Arc<Limits>, activity: Arc<Activity>) -> Self {
        Self { io, limits, activity, head: None, timer: None, is_registered: false }
    }

    /// Ready when the connection has timed out.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_armed = self.is_registered && self.timer.as_ref().is_some_and(|it| !it.is_elapsed());
        // The deadline of an idle connection only moves on; that of a head may be before it.
        if is_armed && self.head.is_none_or(|(before, _)| before != self.activity.requests()) {
            return Poll::Pending;
        }
        let due = match &mut self.head {
            Some((requests, begun)) if *requests == self.activity.requests() => {
                *begun.get_or_insert_with(Instant::now) + self.limits.header_read_timeout
            }
            _ => self.activity.idle_deadline(self.limits.http1_idle_timeout),
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        // A later deadline is set when the timer fires, not at each request.
        if due < timer.deadline() {
            timer.as_mut().reset(due);
            self.is_registered = false;
        }
        if self.is_registered && !timer.is_elapsed() {
            return Poll::Pending;
        }
        self.is_registered = true;
        while timer.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for HeadTimeout<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        // Bodies have timeouts of their own, and HTTP/2 its idle timeout.
        if self.activity.is_http2() || self.activity.has_request_in_flight() {
            return read;
        }
        match read {
            Poll::Ready(Ok(())) if buffer.filled().len() > known => {
                let requests = self.activity.requests();
                if self.head.is_none_or(|(before, _)| before != requests) {
                    self.head = Some((requests, None));
                }
                read
            }
            Poll::Ready(_) => read,
            // The end of the connection: hyper closes it.
            Poll::Pending => self.poll_timeout(cx).map(|()| Ok(())),
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for HeadTimeout<I> {
    forward_io!(io: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    fn connection() -> (HeadTimeout<DuplexStream>, Arc<Activity>, DuplexStream) {
        let (server, client) = duplex(1 << 10);
        let limits = Limits::default()
            .with_header_read_timeout(Duration::from_secs(10))
            .with_http1_idle_timeout(Duration::from_secs(75));
        let activity = Activity::new();
        (HeadTimeout::new(server, Arc::new(limits), Arc::clone(&activity)), activity, client)
    }

    /// The seconds until the connection ends.
    async fn seconds_to_end(server: &mut HeadTimeout<DuplexStream>) -> u64 {
        let begun = Instant::now();
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.unwrap();
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_ends_after_its_own_timeout() {
        let (mut server, activity, _client) = connection();
        drop(activity.begin_request(false));
        assert_eq!(seconds_to_end(&mut server).await, 75);
    }

    #[tokio::test(start_paused = true)]
    async fn incomplete_head_ends_the_connection_after_the_read_timeout() {
        let (mut server, activity, mut client) = connection();
        for _ in 0..2 {
            client.write_all(b"GET").await.unwrap();
            server.read_exact(&mut [0; 3]).await.unwrap();
            drop(activity.begin_request(false));
        }
        let feeding = tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(seconds_to_end(&mut server).await, 10);
        feeding.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn request_in_flight_is_not_timed() {
        let (mut server, activity, _client) = connection();
        let in_flight = activity.begin_request(false);
        let reading = tokio::time::timeout(Duration::from_secs(1_000), server.read_u8()).await;
        assert!(reading.is_err(), "the response is still expected");
        drop(in_flight);
        assert_eq!(seconds_to_end(&mut server).await, 75);
    }
}
