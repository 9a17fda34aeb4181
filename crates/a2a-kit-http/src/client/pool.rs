//! The connection pool.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Response,
    header::{ACCEPT, PROXY_AUTHORIZATION, USER_AGENT},
    uri::Scheme,
};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::{
        legacy::{Client, Error},
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioTimer},
};
use rustls::ClientConfig;

use super::dialer::Dialer;
use crate::{error_log::causes, webhook::resolver::Resolver};

/// How often a request that the server refused to process is sent again.
const MAX_RETRIES: usize = 2;

/// A pool of HTTP/1.1 and HTTP/2 connections, cheap to clone.
#[derive(Clone)]
pub(crate) struct Pool {
    client: Client<Dialer, Full<Bytes>>,
    proxies: Option<Arc<Matcher>>,
    user_agent: HeaderValue,
}

/// Settings of a [`Pool`].
pub(crate) struct PoolSettings {
    pub(crate) tls: ClientConfig,
    pub(crate) resolver: Resolver,
    pub(crate) proxies: Option<Matcher>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) http2_prior_knowledge: bool,
    pub(crate) user_agent: HeaderValue,
}

impl Pool {
    pub(crate) fn new(settings: PoolSettings) -> Self {
        let proxies = settings.proxies.map(Arc::new);
        let dialer =
            Dialer::new(settings.tls, settings.resolver, settings.connect_timeout, proxies.clone());
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(settings.idle_timeout)
            .http2_only(settings.http2_prior_knowledge)
            .build(dialer);
        Self { client, proxies, user_agent: settings.user_agent }
    }

    /// Sends a request, and waits for the head of the response.
    pub(crate) async fn request(
        &self,
        mut request: Request<Bytes>,
    ) -> Result<Response<Incoming>, Error> {
        let credentials = self.proxy_credentials(&request);
        let headers = request.headers_mut();
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        // Without it some web application firewalls reject the request.
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        if let Some(credentials) = credentials {
            headers.entry(PROXY_AUTHORIZATION).or_insert(credentials);
        }
        for _ in 0..MAX_RETRIES {
            match self.client.request(request.clone().map(Full::new)).await {
                Err(error) if is_refused(&error) => {}
                result => return result,
            }
        }
        self.client.request(request.map(Full::new)).await
    }

    /// Returns the credentials for the proxy that receives a request. For a tunnel they are sent
    /// when it is opened.
    fn proxy_credentials(&self, request: &Request<Bytes>) -> Option<HeaderValue> {
        let url = Some(request.uri()).filter(|url| url.scheme() == Some(&Scheme::HTTP))?;
        self.proxies.as_ref()?.intercept(url)?.basic_auth().cloned()
    }
}

/// Returns whether the server did not process the request (RFC 9113 §8.7), for example because it
/// shuts down gracefully.
fn is_refused(error: &Error) -> bool {
    let error = causes(error).find_map(|cause| cause.downcast_ref::<h2::Error>());
    error.is_some_and(|error| {
        error.is_remote()
            && match error.reason() {
                Some(h2::Reason::NO_ERROR) => error.is_go_away(),
                Some(h2::Reason::REFUSED_STREAM) => error.is_reset(),
                _ => false,
            }
    })
}

a2a_core::debug_fields!(Pool { proxies, .. });
