//! What a server enforces before an operation is reached.

use std::time::Duration;

/// What a server enforces before an operation is reached, and how it keeps connections.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest request body accepted, in bytes. Default: 8 MiB.
    pub max_body_bytes: usize,
    /// Most JSON values in one request, at every level: each number, string, array and so on.
    /// Over gRPC those of `google.protobuf.Struct` and `Value` count. Default: 100,000.
    pub max_json_values: usize,
    /// Most bytes of request bodies that are on their way or wait to be parsed, all connections of
    /// a server together, and [`max_body_bytes`](Self::max_body_bytes) at least; one address has a
    /// quarter, or one body. What goes beyond is refused. Default: 256 MiB.
    pub max_pending_body_bytes: usize,
    /// Most bytes of responses that are held for peers that have not taken them yet, all
    /// connections of a server together; one address has a quarter. Responses with the same
    /// content share one buffer and count once; one that is larger than the budget is let through
    /// where nothing else is held. What goes beyond is refused. Default: 256 MiB.
    pub max_pending_response_bytes: usize,
    /// Silence in the middle of a request body after which the request is given up.
    /// Default: 30 s.
    pub body_read_timeout: Duration,
    /// Time in which the whole of a request body has to arrive, however it is spread.
    /// Default: 2 min.
    pub body_time: Duration,
    /// Largest head of a request, in bytes; at least 8 KiB. Default: 64 KiB.
    pub max_header_bytes: u32,
    /// Time in which the head of a request has to arrive. An HTTP/1.1 connection that is kept
    /// open is closed after the same time without a request. Default: 60 s.
    pub header_read_timeout: Duration,
    /// Time in which a new connection has to make its first request. Default: 20 s.
    pub first_request_timeout: Duration,
    /// Time in which a peer has to read something of what waits for it, 16 KiB at least;
    /// its connection is closed after that, or its stream of HTTP/2 reset. Default: 60 s.
    pub write_timeout: Duration,
    /// Time without a request after which an HTTP/2 connection is asked to leave, and closed
    /// after [`grace`](Self::grace); also the longest silence of a stream that watches the health
    /// of the server. Default: 10 min.
    pub idle_timeout: Duration,
    /// Silence on an event stream after which a keep-alive is written. Default: 4 s, as clients
    /// on httpx give up after 5 s of silence unless they are told otherwise.
    pub keep_alive: Duration,
    /// Most connections at a time; more wait in the listener's queue. Default: 65,536.
    pub max_connections: usize,
    /// Most connections of one address at a time, of IPv6 of one network of 64 bits; more are
    /// closed. Default: 16,384.
    pub max_connections_per_address: usize,
    /// Most requests at a time on one HTTP/2 connection. Default: 1,024.
    pub max_concurrent_streams: u32,
    /// Most requests of an HTTP/2 connection that its peer took back before they were looked at,
    /// or that broke the protocol; the connection is closed beyond it. Default: 100.
    pub max_reset_streams: usize,
    /// Most frames of HTTP/2 that a peer may send within 10 s that carry nothing, such as PING,
    /// SETTINGS, PRIORITY and WINDOW_UPDATE, beside those that its requests and their answers
    /// call for; the connection is closed beyond it. Default: 1,000.
    pub max_control_frames: u32,
    /// Most streams that watch the health of the server over gRPC; one address has a quarter.
    /// Default: 1,024.
    pub max_health_watches: usize,
    /// Silence on an HTTP/2 connection after which it is pinged; an unanswered ping closes it
    /// after the same time. Default: 20 s.
    pub http2_ping: Duration,
    /// Time that a shutdown leaves to everything that runs, event streams included, before it
    /// ends the streams. Default: none.
    pub stream_grace: Duration,
    /// Time that a shutdown leaves to running requests after that. Default: 10 s.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 8 << 20,
            max_json_values: 100_000,
            max_pending_body_bytes: 256 << 20,
            max_pending_response_bytes: 256 << 20,
            body_read_timeout: Duration::from_secs(30),
            body_time: Duration::from_secs(120),
            max_header_bytes: 64 << 10,
            header_read_timeout: Duration::from_secs(60),
            first_request_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(600),
            keep_alive: Duration::from_secs(4),
            max_connections: 65_536,
            max_connections_per_address: 16_384,
            max_concurrent_streams: 1_024,
            max_reset_streams: 100,
            max_control_frames: 1_000,
            max_health_watches: 1_024,
            http2_ping: Duration::from_secs(20),
            stream_grace: Duration::ZERO,
            grace: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// Sets the largest request body, in bytes.
    #[must_use]
    pub fn with_max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Sets how many JSON values one request may have.
    #[must_use]
    pub fn with_max_json_values(mut self, values: usize) -> Self {
        self.max_json_values = values;
        self
    }

    /// Sets how many bytes of request bodies may be on their way at a time.
    #[must_use]
    pub fn with_max_pending_body_bytes(mut self, bytes: usize) -> Self {
        self.max_pending_body_bytes = bytes;
        self
    }

    /// Sets how many bytes of responses may be held for peers that have not taken them yet.
    #[must_use]
    pub fn with_max_pending_response_bytes(mut self, bytes: usize) -> Self {
        self.max_pending_response_bytes = bytes;
        self
    }

    /// Sets the longest silence in the middle of a request body.
    #[must_use]
    pub fn with_body_read_timeout(mut self, timeout: Duration) -> Self {
        self.body_read_timeout = timeout;
        self
    }

    /// Sets the time in which the whole of a request body has to arrive.
    #[must_use]
    pub fn with_body_time(mut self, time: Duration) -> Self {
        self.body_time = time;
        self
    }

    /// Sets the largest head of a request, in bytes.
    #[must_use]
    pub fn with_max_header_bytes(mut self, bytes: u32) -> Self {
        self.max_header_bytes = bytes;
        self
    }

    /// Sets the time in which the head of a request has to arrive.
    #[must_use]
    pub fn with_header_read_timeout(mut self, timeout: Duration) -> Self {
        self.header_read_timeout = timeout;
        self
    }

    /// Sets the time in which a new connection has to make its first request.
    #[must_use]
    pub fn with_first_request_timeout(mut self, timeout: Duration) -> Self {
        self.first_request_timeout = timeout;
        self
    }

    /// Sets the time in which a peer has to read something of what waits for it.
    #[must_use]
    pub fn with_write_timeout(mut self, timeout: Duration) -> Self {
        self.write_timeout = timeout;
        self
    }

    /// Sets the time without a request after which an HTTP/2 connection is closed.
    #[must_use]
    pub fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets the silence on an event stream after which a keep-alive is written.
    #[must_use]
    pub fn with_keep_alive(mut self, silence: Duration) -> Self {
        self.keep_alive = silence;
        self
    }

    /// Sets how many connections there may be at a time.
    #[must_use]
    pub fn with_max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets how many connections one address may have at a time.
    #[must_use]
    pub fn with_max_connections_per_address(mut self, connections: usize) -> Self {
        self.max_connections_per_address = connections;
        self
    }

    /// Sets how many requests a peer of HTTP/2 may take back before they were looked at.
    #[must_use]
    pub fn with_max_reset_streams(mut self, streams: usize) -> Self {
        self.max_reset_streams = streams;
        self
    }

    /// Sets how many frames of HTTP/2 that carry nothing a peer may send within 10 s.
    #[must_use]
    pub fn with_max_control_frames(mut self, frames: u32) -> Self {
        self.max_control_frames = frames;
        self
    }

    /// Sets how many streams may watch the health of the server over gRPC.
    #[must_use]
    pub fn with_max_health_watches(mut self, streams: usize) -> Self {
        self.max_health_watches = streams;
        self
    }

    /// Sets how many requests there may be at a time on one HTTP/2 connection.
    #[must_use]
    pub fn with_max_concurrent_streams(mut self, streams: u32) -> Self {
        self.max_concurrent_streams = streams;
        self
    }

    /// Sets the silence on an HTTP/2 connection after which it is pinged.
    #[must_use]
    pub fn with_http2_ping(mut self, silence: Duration) -> Self {
        self.http2_ping = silence;
        self
    }

    /// Sets the time that a shutdown leaves to everything before it ends event streams.
    #[must_use]
    pub fn with_stream_grace(mut self, grace: Duration) -> Self {
        self.stream_grace = grace;
        self
    }

    /// Sets the time that a shutdown leaves to running requests.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}
