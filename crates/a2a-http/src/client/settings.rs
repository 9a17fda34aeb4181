//! Settings of the HTTP client.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;

use super::WireObserver;
use crate::{WebhookPolicy, tls::ClientTls};

/// Settings of an HTTP client: timeouts, limits and headers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientSettings {
    /// Timeout for connecting, including the TLS handshake. Default: 10 s.
    pub connect_timeout: Duration,
    /// Timeout of a unary request, including the response body; `None` for no timeout. It does not
    /// apply to event streams. Default: 30 s.
    pub request_timeout: Option<Duration>,
    /// Idle timeout of an event stream, including the wait for its head; `None` for no timeout.
    /// Servers of this workspace write every 4 s, others may never. Default: 5 min.
    pub idle_timeout: Option<Duration>,
    /// Maximum size of a response that is not an event stream, in bytes. Default: 64 MiB.
    pub max_response_bytes: usize,
    /// Maximum size of an event, in bytes. Default: 64 MiB.
    pub max_event_bytes: usize,
    /// Headers of every request, for example credentials; headers of the request take precedence.
    /// They are not sent to other origins. Default: none.
    pub headers: HeaderMap,
    /// Maximum number of redirects per call, all within one origin. Default: 3.
    pub max_redirects: usize,
    /// The `User-Agent`. Default: `a2a-rust/` and the version.
    pub user_agent: String,
    /// Uses HTTP/2 with prior knowledge on plaintext connections. Default: false.
    pub http2_prior_knowledge: bool,
    /// Uses the proxies in the environment (`HTTP_PROXY` and so on). Default: false.
    pub proxy_from_environment: bool,
    /// Policy for untrusted URLs: its networks and schemes apply to every URL that is called,
    /// including those in cards and redirects, and to the addresses that names resolve to at the
    /// time. Proxies are then disabled, because they resolve names themselves.
    /// Default: no restriction.
    pub policy: Option<WebhookPolicy>,
    /// Trust anchors and client certificate for TLS. Default: those of the platform, and none.
    pub tls: ClientTls,
    /// Observer of requests and responses, for diagnostics. Default: none.
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

impl ClientSettings {
    /// Sets the connect timeout.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the timeout of a unary request; `None` for no timeout.
    #[must_use]
    pub fn with_request_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.request_timeout = timeout.into();
        self
    }

    /// Sets the idle timeout of event streams; `None` for no timeout.
    #[must_use]
    pub fn with_idle_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.idle_timeout = timeout.into();
        self
    }

    /// Sets the maximum size of a response that is not an event stream, in bytes.
    #[must_use]
    pub fn with_max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets the maximum size of an event, in bytes.
    #[must_use]
    pub fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Sets the headers of every request.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the maximum number of redirects per call, all within one origin; 0 for none.
    #[must_use]
    pub fn with_max_redirects(mut self, redirects: usize) -> Self {
        self.max_redirects = redirects;
        self
    }

    /// Sets the `User-Agent`.
    #[must_use]
    pub fn with_user_agent(mut self, name: impl Into<String>) -> Self {
        self.user_agent = name.into();
        self
    }

    /// Sets whether to use HTTP/2 with prior knowledge on plaintext connections.
    #[must_use]
    pub fn with_http2_prior_knowledge(mut self, known: bool) -> Self {
        self.http2_prior_knowledge = known;
        self
    }

    /// Sets the policy for URLs.
    #[must_use]
    pub fn with_policy(mut self, policy: impl Into<Option<WebhookPolicy>>) -> Self {
        self.policy = policy.into();
        self
    }

    /// Sets whether to use the proxies in the environment.
    #[must_use]
    pub fn with_proxy_from_environment(mut self, used: bool) -> Self {
        self.proxy_from_environment = used;
        self
    }

    /// Sets the trust anchors and the client certificate for TLS.
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets the observer of requests and responses.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Into<Option<Arc<dyn WireObserver>>>) -> Self {
        self.observer = observer.into();
        self
    }
}
