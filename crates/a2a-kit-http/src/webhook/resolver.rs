//! DNS resolver that filters addresses by policy.

use std::{future::Future, io, net::SocketAddr, pin::Pin, sync::Arc};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::WebhookPolicy;

/// Resolves and checks names when a connection is opened, so that DNS cannot return one address for
/// the check and another for the connection.
#[derive(Clone)]
pub(crate) struct CheckedResolver {
    policy: Arc<WebhookPolicy>,
    lookup: Lookup,
}

/// Looks up the addresses of a host.
pub(crate) type Lookup = Arc<dyn Fn(String) -> Found + Send + Sync>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// All addresses of a host are in forbidden networks.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} resolves to a forbidden network")]
pub(super) struct PrivateHost(String);

impl CheckedResolver {
    pub(crate) fn new(policy: Arc<WebhookPolicy>, lookup: Lookup) -> Self {
        Self { policy, lookup }
    }

    /// Looks up the allowed addresses of a host.
    ///
    /// # Errors
    ///
    /// [`PrivateHost`] if there are addresses and none is allowed; those of the lookup.
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

/// Returns the system resolver.
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
