//! Asks DNS, and keeps only the addresses that may be called.

use std::{future::Future, io, net::SocketAddr, pin::Pin, sync::Arc};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::WebhookPolicy;

/// Asks DNS at the moment of the connection, so that a name can't be checked with one address
/// and called with another.
#[derive(Clone)]
pub(crate) struct CheckedResolver {
    policy: Arc<WebhookPolicy>,
    lookup: Lookup,
}

/// Finds the addresses of a host.
pub(crate) type Lookup = Arc<dyn Fn(String) -> Found + Send + Sync>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Every address of a host is in a network that may not be called.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is in a network that may not be called")]
pub(super) struct PrivateHost(String);

impl CheckedResolver {
    pub(crate) fn new(policy: Arc<WebhookPolicy>, lookup: Lookup) -> Self {
        Self { policy, lookup }
    }

    /// Finds the addresses of a host that may be called.
    ///
    /// # Errors
    ///
    /// [`PrivateHost`] where there are addresses and none may be called; those of DNS.
    pub(crate) async fn find(&self, host: &str) -> Result<Vec<SocketAddr>, BoxError> {
        let mut addresses = (self.lookup)(host.to_owned()).await?;
        let were_found = !addresses.is_empty();
        if !self.policy.allows_host(host) {
            addresses.retain(|address| self.policy.allows_address(address.ip()));
        }
        if addresses.is_empty() && were_found {
            return Err(PrivateHost(host.to_owned()).into());
        }
        Ok(addresses)
    }
}

/// Asks whatever the system asks.
pub(crate) fn system() -> Lookup {
    Arc::new(|host| Box::pin(async move { Ok(lookup_host((host, 0)).await?.collect()) }))
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.find(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
