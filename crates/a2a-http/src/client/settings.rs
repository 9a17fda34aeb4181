//! How an HTTP client behaves.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;

use super::WireObserver;
use crate::{WebhookPolicy, tls::ClientTls};

/// How an HTTP client behaves: its timeouts, bounds, and what it adds to every call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientSettings {
    /// Time to make a connection, TLS included. Default: 10 s.
    pub connect_timeout: Duration,
    /// Time from a unary request to the whole of its answer; `None` waits for ever. It does
    /// not apply to event streams. Default: 30 s.
    pub request_timeout: Option<Duration>,
    /// Silence after which an event stream counts as cut, before its head too; `None` waits
    /// for ever. Our own servers write every 4 s, others may never. Default: 5 min.
    pub idle_timeout: Option<Duration>,
    /// Largest answer that is not an event stream, in bytes. Default: 64 MiB.
    pub max_response_bytes: usize,
    /// Largest event of a stream, in bytes. Default: 64 MiB.
    pub max_event_bytes: usize,
    /// Headers of every request, for credentials; those of the request itself win. They are
    /// not sent to any other origin. Default: none.
    pub headers: HeaderMap,
    /// Most redirects followed for one call, all within one origin. Default: 3.
    pub max_redirects: usize,
    /// The `User-Agent`. Default: `a2a-rust/` and the version.
    pub user_agent: String,
    /// Speaks HTTP/2 on clear connections, without asking. Default: false.
    pub http2_prior_knowledge: bool,
    /// Goes through the proxies that the environment names (`HTTP_PROXY` and so on).
    /// Default: false.
    pub proxy_from_environment: bool,
    /// What may be called, where it is others who say what is: its networks and schemes hold for
    /// each address that is called, those in cards and redirects too, and for what names stand
    /// for at the time; there are no proxies then, which would ask for names themselves.
    /// Default: anything.
    pub policy: Option<WebhookPolicy>,
    /// Whom to trust over TLS, and the certificate to show. Default: whom the platform trusts,
    /// and none.
    pub tls: ClientTls,
    /// Who sees what is sent and received, for diagnostics. Default: nobody.
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
    /// Sets the time to make a connection.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time from a unary request to the whole of its answer; `None` waits for ever.
    #[must_use]
    pub fn with_request_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.request_timeout = timeout.into();
        self
    }

    /// Sets the silence after which an event stream counts as cut; `None` waits for ever.
    #[must_use]
    pub fn with_idle_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.idle_timeout = timeout.into();
        self
    }

    /// Sets the largest answer that is not an event stream, in bytes.
    #[must_use]
    pub fn with_max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets the largest event of a stream, in bytes.
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

    /// Sets how many redirects are followed for one call, all within one origin; 0 for none.
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

    /// Sets whether HTTP/2 is spoken on clear connections, without asking.
    #[must_use]
    pub fn with_http2_prior_knowledge(mut self, known: bool) -> Self {
        self.http2_prior_knowledge = known;
        self
    }

    /// Sets what may be called.
    #[must_use]
    pub fn with_policy(mut self, policy: impl Into<Option<WebhookPolicy>>) -> Self {
        self.policy = policy.into();
        self
    }

    /// Sets whether the proxies that the environment names are used.
    #[must_use]
    pub fn with_proxy_from_environment(mut self, used: bool) -> Self {
        self.proxy_from_environment = used;
        self
    }

    /// Sets whom to trust over TLS, and the certificate to show.
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets who sees what is sent and received.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Into<Option<Arc<dyn WireObserver>>>) -> Self {
        self.observer = observer.into();
        self
    }
}
