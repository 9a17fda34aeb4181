//! Rate limits per client address.

use std::{net::IpAddr, sync::Arc};

use a2a_core::{Error, ErrorKind, Result};
use a2a_kit_operations::metrics;
pub use a2a_kit_operations::rate::{Rate, Rates};
use axum::Router;
use http::request::Parts;
use tracing::debug;

use crate::{
    address::{ClientAddress, TrustedProxy, client_address, network},
    head_check::check_heads,
};

/// Maximum number of tracked addresses.
const MAX_ADDRESSES: usize = 65_536;

/// Limits the request rate of each client address, before any other processing of a request. The
/// addresses of an IPv6 /64 network share one limit.
///
/// Requests above the rate get [`ResourceExhausted`](ErrorKind::ResourceExhausted) (429 and
/// `Retry-After`, over gRPC `RESOURCE_EXHAUSTED`). Requests without a known address are not
/// limited.
///
/// ```
/// use a2a_kit_http::rate::AddressRate;
///
/// # fn example(bindings: axum::Router) -> Result<axum::Router, Box<dyn std::error::Error>> {
/// let rate = AddressRate::new("600/m+100".parse()?).with_proxies(["10.0.0.0/8".parse()?]);
/// let router = rate.layer(bindings);
/// # Ok(router)
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AddressRate {
    rates: Arc<Rates<IpAddr>>,
    proxies: Arc<[TrustedProxy]>,
}

impl AddressRate {
    /// Limits each address to `rate`.
    pub fn new(rate: Rate) -> Self {
        Self { rates: Arc::new(Rates::new(rate, MAX_ADDRESSES)), proxies: Arc::default() }
    }

    /// Trusts `X-Forwarded-For` from these proxies.
    #[must_use]
    pub fn with_proxies(mut self, proxies: impl IntoIterator<Item = TrustedProxy>) -> Self {
        self.proxies = proxies.into_iter().collect();
        self
    }

    /// Applies the rate limit to every route.
    pub fn layer(&self, router: Router) -> Router {
        let limit = self.clone();
        check_heads(router, move |parts| limit.check(parts))
    }

    fn check(&self, parts: &mut Parts) -> Result<()> {
        let Some(address) = client_address(parts, &self.proxies) else { return Ok(()) };
        parts.extensions.insert(ClientAddress(address));
        self.rates.check(network(address)).map_err(|wait| {
            metrics::refused("rate");
            debug!(%address, "rate limit exceeded");
            let message =
                format!("too many requests: the limit is {} per address", self.rates.rate());
            Error::new(ErrorKind::ResourceExhausted, message).with_retry_after(wait)
        })
    }
}
