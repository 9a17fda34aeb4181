//! Connections whose peer has shut its sending side (RFC 9112 §9.6).
//!
//! A peer that has sent its request may close its half of the connection, and still reads the
//! response. A peer that has closed both halves looks the same, until something is written to it. So
//! the response goes on, and the peer is probed: an event stream writes a comment at once, and other
//! connections send TCP keep-alive probes. The peer that is gone responds with a reset.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};

use super::activity::Activity;
use crate::forward_io::forward_io;

/// Interval of TCP keep-alive probes to a peer that has shut its sending side. Systems forget closed
/// connections within a minute or two, and reset them then.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// First and longest interval at which a reset is looked for.
const CHECK_INTERVAL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));

/// A socket that notices that its peer has shut its sending side, or is gone, while a response over
/// HTTP/1.1 is in flight.
#[derive(Debug)]
pub(super) struct HalfClose {
    pub(super) socket: TcpStream,
    activity: Arc<Activity>,
    /// Set when the peer has shut its sending side.
    check: Option<Box<Check>>,
}

/// When to look for a reset.
#[derive(Debug)]
struct Check {
    sleep: Pin<Box<Sleep>>,
    interval: Duration,
}

impl HalfClose {
    pub(super) fn new(socket: TcpStream, activity: Arc<Activity>) -> Self {
        Self { socket, activity, check: None }
    }

    /// Looks for the end of what the peer sends, then for a reset.
    ///
    /// # Errors
    ///
    /// That of the socket, if the peer is gone.
    fn look(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let check = match &mut self.check {
            Some(check) => check,
            None => {
                let mut byte = [0];
                match self.socket.poll_peek(cx, &mut ReadBuf::new(&mut byte)) {
                    Poll::Ready(Ok(0)) => {}
                    Poll::Ready(Err(error)) => return Err(error),
                    Poll::Ready(Ok(_)) | Poll::Pending => return Ok(()),
                }
                let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE);
                #[cfg(not(target_os = "openbsd"))]
                let keep_alive = keep_alive.with_interval(KEEP_ALIVE);
                // Without it, only the next write finds out.
                if let Err(error) = SockRef::from(&self.socket).set_tcp_keepalive(&keep_alive) {
                    tracing::debug!(%error, "failed to enable TCP keep-alive");
                }
                self.activity.begin_probe();
                // The body of the response is polled again.
                cx.waker().wake_by_ref();
                let interval = CHECK_INTERVAL.0;
                self.check.insert(Box::new(Check { sleep: Box::pin(sleep(interval)), interval }))
            }
        };
        while check.sleep.as_mut().poll(cx).is_ready() {
            if let Some(error) = self.socket.take_error()? {
                return Err(error);
            }
            check.interval = CHECK_INTERVAL.1.min(check.interval * 2);
            check.sleep.as_mut().reset(Instant::now() + check.interval);
        }
        Ok(())
    }
}

impl AsyncRead for HalfClose {
    forward_io!(socket: poll_read);
}

impl AsyncWrite for HalfClose {
    // hyper flushes whenever it is polled, and does not read while it waits for a response.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(cx))?;
        if self.activity.has_request_in_flight() && !self.activity.is_http2() {
            self.look(cx)?;
        }
        Poll::Ready(Ok(()))
    }

    forward_io!(socket: poll_write, poll_write_vectored, is_write_vectored, poll_shutdown);
}
