//! Settings of the HTTP client.

use std::{sync::Arc, time::Duration};

use derive_setters::Setters;
use http::HeaderMap;

use super::{ReadBudget, WireObserver};
use crate::{WebhookPolicy, tls::ClientTls};

/// Settings of an HTTP client: timeouts, limits and headers.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct ClientSettings {
    /// Timeout for connecting, including the TLS handshake. Default: 10 s.
    pub connect_timeout: Duration,
    /// Timeout of a unary request, including the response body; `None` for no timeout. It does not
    /// apply to event streams. Default: 30 s.
    #[setters(into)]
    pub request_timeout: Option<Duration>,
    /// Idle timeout of an event stream, including the wait for its head; `None` for no timeout.
    /// Servers of this workspace write every 4 s, others may never. Default: 5 min.
    #[setters(into)]
    pub idle_timeout: Option<Duration>,
    /// Maximum size of a response that is not an event stream, in bytes. Default: 64 MiB.
    pub max_response_bytes: usize,
    /// Maximum size of an event, in bytes. Default: 64 MiB.
    pub max_event_bytes: usize,
    /// Budget for the bytes of all responses and events that are being read, shared with other
    /// clients. Default: none.
    #[setters(into)]
    pub read_budget: Option<ReadBudget>,
    /// Headers of every request, for example credentials; headers of the request take precedence.
    /// They are not sent to other origins. Default: none.
    pub headers: HeaderMap,
    /// Maximum number of redirects per call, all within one origin. Default: 3.
    pub max_redirects: usize,
    /// The `User-Agent`. Default: `a2a-rust/` and the version.
    #[setters(into)]
    pub user_agent: String,
    /// Uses HTTP/2 with prior knowledge on plaintext connections. Default: false.
    pub http2_prior_knowledge: bool,
    /// Uses the proxies in the environment (`HTTP_PROXY` and so on). Default: false.
    pub proxy_from_environment: bool,
    /// Policy for untrusted URLs: its networks and schemes apply to every URL that is called,
    /// including those in cards and redirects, and to the addresses that names resolve to at the
    /// time. Proxies are then disabled, because they resolve names themselves.
    /// Default: no restriction.
    #[setters(into)]
    pub policy: Option<WebhookPolicy>,
    /// Trust anchors and client certificate for TLS. Default: those of the platform, and none.
    pub tls: ClientTls,
    /// Observer of requests and responses, for diagnostics. Default: none.
    #[setters(into)]
    pub observer: Option<Arc<dyn WireObserver>>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            request_timeout: Some(Duration::from_secs(30)),
            idle_timeout: Some(Duration::from_secs(300)),
            max_response_bytes: 64 << 20,
            max_event_bytes: 64 << 20,
            read_budget: None,
            headers: HeaderMap::new(),
            max_redirects: 3,
            user_agent: concat!("a2a-rust/", env!("CARGO_PKG_VERSION")).into(),
            http2_prior_knowledge: false,
            proxy_from_environment: false,
            policy: None,
            tls: ClientTls::new(),
            observer: None,
        }
    }
}
