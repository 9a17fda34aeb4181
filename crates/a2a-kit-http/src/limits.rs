//! Server limits.

use std::time::Duration;

use derive_setters::Setters;

/// Limits that a server enforces on connections, and on requests before they reach an operation.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct Limits {
    /// Maximum size of a request body, in bytes. Default: 8 MiB.
    pub max_body_bytes: usize,
    /// Maximum number of JSON values in a request, at all levels: numbers, strings, arrays and so
    /// on. Over gRPC, values of `google.protobuf.Struct` and `Value` count. Default: 100,000.
    pub max_json_values: usize,
    /// Maximum bytes of request bodies in transit or waiting to be parsed, across all connections
    /// of a server; at least [`max_body_bytes`](Self::max_body_bytes). Each address is limited to a
    /// quarter, or one body. Bodies beyond it are rejected. Default: 256 MiB.
    pub max_pending_body_bytes: usize,
    /// Maximum bytes of responses that peers have not yet read, across all connections of a server.
    /// Each address is limited to a quarter. Responses with equal content share one buffer and
    /// count once; a response larger than the budget is accepted if no other is buffered. Responses
    /// beyond it are rejected. Default: 256 MiB.
    pub max_pending_response_bytes: usize,
    /// Read timeout of a request body: maximum time between two reads. Default: 30 s.
    pub body_read_timeout: Duration,
    /// Total timeout of a request body. Default: 2 min.
    pub body_total_timeout: Duration,
    /// Maximum size of a request head, in bytes; at least 8 KiB. Default: 64 KiB.
    pub max_header_bytes: u32,
    /// Read timeout of a request head, from its first byte. Default: 60 s.
    pub header_read_timeout: Duration,
    /// Time from accepting a connection to its first request. Default: 20 s.
    pub first_request_timeout: Duration,
    /// Write timeout: time in which a peer has to read at least 16 KiB of pending data. After it
    /// the connection is closed, or the HTTP/2 stream reset. Default: 60 s.
    pub write_timeout: Duration,
    /// Idle timeout of HTTP/1.1 keep-alive connections. Longer than that of load balancers, which
    /// otherwise send requests on connections that are about to close. Default: 75 s.
    pub http1_idle_timeout: Duration,
    /// Idle timeout of HTTP/2 connections: they get a GOAWAY, and are closed after
    /// [`drain_timeout`](Self::drain_timeout). Also the idle timeout of gRPC health watches.
    /// Default: 10 min.
    pub idle_timeout: Duration,
    /// Keep-alive interval of idle event streams. Default: 4 s, because httpx clients have a
    /// default read timeout of 5 s.
    pub keep_alive_interval: Duration,
    /// Maximum number of open connections; further ones wait in the accept queue, or are rejected
    /// with HTTP status 503 unless they are health probes
    /// ([`HttpServer::with_probes`](crate::HttpServer::with_probes)). Default: 65,536.
    pub max_connections: usize,
    /// Maximum number of open connections per IPv4 address or IPv6 /64 network; further ones are
    /// closed. Default: 16,384.
    pub max_connections_per_address: usize,
    /// Maximum number of concurrent streams of an HTTP/2 connection. Default: 1,024.
    pub max_concurrent_streams: u32,
    /// Maximum number of streams of an HTTP/2 connection that are reset before they are accepted
    /// (rapid reset), or reset for a protocol error; beyond it the connection is closed.
    /// Default: 100.
    pub max_reset_streams: usize,
    /// Maximum number of HTTP/2 control frames in 10 s, such as PING, SETTINGS, PRIORITY and
    /// WINDOW_UPDATE, in addition to those that requests and responses cause; beyond it the
    /// connection is closed. Default: 1,000.
    pub max_control_frames: u32,
    /// Maximum number of open gRPC health watches; each address is limited to a quarter.
    /// Default: 1,024.
    pub max_health_watches: usize,
    /// Interval of HTTP/2 keep-alive PINGs, and the timeout of their acknowledgement, after which
    /// the connection is closed. Default: 20 s.
    pub http2_ping_interval: Duration,
    /// Time between the signal to stop and the end of accepting requests, in which `/readyz` already
    /// returns 503: what a load balancer takes to notice. Default: none.
    pub shutdown_delay: Duration,
    /// Time that a shutdown then waits for all requests, including event streams, before it ends the
    /// streams. Default: none.
    pub stream_drain_timeout: Duration,
    /// Time that a shutdown then gives the other requests and running executors. Default: 10 s.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 8 << 20,
            max_json_values: 100_000,
            max_pending_body_bytes: 256 << 20,
            max_pending_response_bytes: 256 << 20,
            body_read_timeout: Duration::from_secs(30),
            body_total_timeout: Duration::from_secs(120),
            max_header_bytes: 64 << 10,
            header_read_timeout: Duration::from_secs(60),
            first_request_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(60),
            http1_idle_timeout: Duration::from_secs(75),
            idle_timeout: Duration::from_secs(600),
            keep_alive_interval: Duration::from_secs(4),
            max_connections: 65_536,
            max_connections_per_address: 16_384,
            max_concurrent_streams: 1_024,
            max_reset_streams: 100,
            max_control_frames: 1_000,
            max_health_watches: 1_024,
            http2_ping_interval: Duration::from_secs(20),
            shutdown_delay: Duration::ZERO,
            stream_drain_timeout: Duration::ZERO,
            drain_timeout: Duration::from_secs(10),
        }
    }
}
