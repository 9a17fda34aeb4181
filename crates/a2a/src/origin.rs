//! Which sites may call, and under which hosts: CORS, and the guard of an agent without
//! authentication.

use std::net::SocketAddr;

use a2a_http::site_guard::SiteGuard;
use http::{HeaderName, HeaderValue, Method, Uri, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::Server;

/// What stands for every origin and every host.
const ANY: &str = "*";

impl Server {
    /// Lets pages of these origins call the agent and read its card, such as
    /// `https://app.example`: scheme, host and port, as browsers send them. `*` lets all.
    ///
    /// Without this, pages of every origin may where callers authenticate: browsers don't send
    /// credentials by themselves there. Where nobody does, no page may, but those that are served
    /// under the host and port of the agent.
    pub fn with_allowed_origins<O: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = O>,
    ) -> Self {
        self.allowed_origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Serves requests for these hosts too where nobody authenticates. `*` serves all.
    ///
    /// Served without this are the loopback hosts, the host of
    /// [`with_public_url`](Self::with_public_url), and, where the server listens elsewhere than on
    /// the loopback, IP addresses. Any other name could be one that a page has made to resolve to
    /// this server (DNS rebinding). Where callers authenticate, every host is served.
    pub fn with_allowed_hosts<H: Into<String>>(
        mut self,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        self.allowed_hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// The guard against pages of other sites; `None` where callers authenticate.
    pub(crate) fn site_guard(&self, address: SocketAddr) -> Option<SiteGuard> {
        if !self.is_open() {
            return None;
        }
        let host = |url: &String| Some(url.parse::<Uri>().ok()?.host()?.to_owned());
        let public = self.public_url.iter().chain(&self.grpc_address).filter_map(host);
        let hosts = self.allowed_hosts.iter().cloned().chain(public);
        let origins = self.allowed_origins.iter().flatten().cloned();
        Some(SiteGuard::new(address).with_hosts(hosts).with_origins(origins))
    }

    /// Whose pages may call; `None` for nobody's.
    pub(crate) fn origins(&self) -> Option<AllowOrigin> {
        match &self.allowed_origins {
            None if self.is_open() => None,
            None => Some(AllowOrigin::any()),
            Some(origins) if origins.iter().any(|origin| origin == ANY) => Some(AllowOrigin::any()),
            Some(origins) => {
                // What is no header can't be the origin of a request either.
                let values = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
                Some(AllowOrigin::list(values))
            }
        }
    }
}

/// Lets pages of these origins call the agent; what they may do is up to their credentials.
pub(crate) fn cors(origins: AllowOrigin) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
        // Not `*`, which leaves out `Authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            HeaderName::from_static("a2a-extensions"),
            header::ETAG,
            header::LAST_MODIFIED,
            header::RETRY_AFTER,
            header::WWW_AUTHENTICATE,
        ])
        .max_age(std::time::Duration::from_secs(3600))
}
