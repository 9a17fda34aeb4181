//! Protection against pages of other sites: CORS, and the guard of an agent without
//! authentication.

use std::{convert::Infallible, future::ready, net::SocketAddr, time::Duration};

use a2a_kit_http::site_guard::SiteGuard;
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::config::Config;

/// Stands for every origin and every host.
const ANY: &str = "*";

/// How long browsers may cache the result of a preflight request.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(3600);

impl Config {
    /// The guard against pages of other sites; `None` where callers authenticate.
    pub(crate) fn site_guard(&self, address: SocketAddr) -> Option<SiteGuard> {
        if self.authenticates {
            return None;
        }
        let host = |url: &String| Some(url.parse::<Uri>().ok()?.host()?.to_owned());
        let public = self.paths.public_url.iter().chain(&self.paths.grpc_address);
        let hosts = self.allowed_hosts.iter().cloned().chain(public.filter_map(host));
        let origins = self.allowed_origins.iter().flatten().cloned();
        Some(SiteGuard::new(address).with_hosts(hosts).with_origins(origins))
    }

    /// The origins whose pages may call; `None` for no origin.
    pub(crate) fn origins(&self) -> Option<AllowOrigin> {
        if self.allows_any_origin() {
            return Some(AllowOrigin::any());
        }
        // A text that is no header value can't be the origin of a request either.
        let origins = self.allowed_origins.as_ref()?.iter();
        Some(AllowOrigin::list(origins.filter_map(|origin| HeaderValue::from_str(origin).ok())))
    }

    fn allows_any_origin(&self) -> bool {
        let origins = self.allowed_origins.as_ref();
        origins.map_or(self.authenticates, |origins| origins.iter().any(|origin| origin == ANY))
    }

    /// The headers that [`cors`] adds to each response, except to a preflight request; `None` if they
    /// depend on the request.
    pub(crate) fn constant_cors_headers(&self) -> Option<HeaderMap> {
        let Some(origins) = self.origins() else { return Some(HeaderMap::new()) };
        if !self.allows_any_origin() {
            return None;
        }
        let respond = service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(()))));
        let response = cors(origins).layer(respond).oneshot(Request::new(())).now_or_never()?;
        response.ok().map(|response| response.into_parts().0.headers)
    }
}

/// Allows pages of these origins to call the agent; their credentials decide what they may do.
pub(crate) fn cors(origins: AllowOrigin) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
        // Not `*`, which leaves out `Authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            HeaderName::from_static("a2a-extensions"),
            HeaderName::from_static("a2a-version"),
            header::ETAG,
            header::LAST_MODIFIED,
            header::RETRY_AFTER,
            header::WWW_AUTHENTICATE,
        ])
        .max_age(PREFLIGHT_MAX_AGE)
}
