//! How often an address may call.

use std::{net::IpAddr, sync::Arc};

use a2a_core::{Error, ErrorKind, Result};
use a2a_operations::metrics;
pub use a2a_operations::rate::{InvalidRate, Rate, Rates};
use axum::Router;
use http::request::Parts;
use tracing::debug;

use crate::{
    address::{TrustedProxy, client_address, network},
    gate::gate,
};

/// Most addresses whose rate is remembered.
const MAX_ADDRESSES: usize = 65_536;

/// Holds each address to a rate, before anything else is done for a request: of IPv4 each alone,
/// of IPv6 all that share their first 64 bits.
///
/// What comes too often is answered with
/// [`ResourceExhausted`](ErrorKind::ResourceExhausted) (429 and `Retry-After`, over gRPC
/// `RESOURCE_EXHAUSTED`). Requests of which the server does not know the address are let through.
///
/// ```
/// use a2a_http::rate::AddressRate;
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
    /// Holds each address to `rate`.
    pub fn new(rate: Rate) -> Self {
        Self { rates: Arc::new(Rates::new(rate, MAX_ADDRESSES)), proxies: Arc::default() }
    }

    /// Believes these proxies where requests come from (`X-Forwarded-For`).
    #[must_use]
    pub fn with_proxies(mut self, proxies: impl IntoIterator<Item = TrustedProxy>) -> Self {
        self.proxies = proxies.into_iter().collect();
        self
    }

    /// Puts the rate in front of every route.
    pub fn layer(&self, router: Router) -> Router {
        let held = self.clone();
        gate(router, move |parts| held.check(parts))
    }

    fn check(&self, parts: &Parts) -> Result<()> {
        let Some(address) = client_address(parts, &self.proxies) else { return Ok(()) };
        self.rates.check(network(address)).map_err(|wait| {
            metrics::refused("rate");
            debug!(%address, "an address calls too often");
            let message = format!("too many requests: an address may make {}", self.rates.rate());
            Error::new(ErrorKind::ResourceExhausted, message).with_retry_after(wait)
        })
    }
}
