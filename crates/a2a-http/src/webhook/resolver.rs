//! Asks DNS, and keeps only the addresses that may be called.

use std::{future::Future, io, net::SocketAddr, pin::Pin, sync::Arc};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::WebhookPolicy;

/// Asks DNS at the moment of the connection, so that a name can't be checked with one address
/// and called with another.
pub(super) struct CheckedResolver {
    policy: Arc<WebhookPolicy>,
    lookup: Lookup,
}

/// Finds the addresses of a host.
pub(super) type Lookup = Arc<dyn Fn(String) -> Found + Send + Sync>;
type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Every address of a host is in a network that may not be called.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is in a network that may not be called")]
pub(super) struct PrivateHost(String);

impl CheckedResolver {
    pub(super) fn new(policy: Arc<WebhookPolicy>, lookup: Lookup) -> Self {
        Self { policy, lookup }
    }
}

/// Asks whatever the system asks.
pub(super) fn system() -> Lookup {
    Arc::new(|host| Box::pin(async move { Ok(lookup_host((host, 0)).await?.collect()) }))
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.policy);
        let found = (self.lookup)(name.as_str().to_owned());
        Box::pin(async move {
            let mut addresses = found.await?;
            let were_found = !addresses.is_empty();
            if !policy.allows_host(name.as_str()) {
                addresses.retain(|address| policy.allows_address(address.ip()));
            }
            if addresses.is_empty() && were_found {
                return Err(PrivateHost(name.as_str().to_owned()).into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
