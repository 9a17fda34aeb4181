//! Timeouts of a client.

use std::time::Duration;

use derive_setters::Setters;

/// Timeouts of a client. An open stream has no total timeout.
#[derive(Clone, Copy, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
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
    #[setters(into)]
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
