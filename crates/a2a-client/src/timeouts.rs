//! Timeouts of a client.

use std::time::Duration;

/// Timeouts of a client. An open stream has no total timeout.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Timeouts {
    /// Connect timeout. Default: 10 s.
    pub connect: Duration,
    /// Time until the complete response, for every operation except sends. Default: 30 s.
    pub request: Duration,
    /// Time until the response to a send, or until its stream opens: the agent works meanwhile.
    /// Default: 10 min.
    pub send: Duration,
    /// Idle timeout of an open stream, after which the stream is resumed. Servers of this
    /// workspace write every 4 s, others may never. Default: 5 min.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
            send: Duration::from_secs(600),
            idle: Some(Duration::from_secs(300)),
        }
    }
}

impl Timeouts {
    /// Sets the connect timeout.
    #[must_use]
    pub fn with_connect(mut self, connect: Duration) -> Self {
        self.connect = connect;
        self
    }

    /// Sets the timeout of requests other than sends.
    #[must_use]
    pub fn with_request(mut self, request: Duration) -> Self {
        self.request = request;
        self
    }

    /// Sets the timeout of sends.
    #[must_use]
    pub fn with_send(mut self, send: Duration) -> Self {
        self.send = send;
        self
    }

    /// Sets the idle timeout of streams; `None` disables it.
    #[must_use]
    pub fn with_idle(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }
}
