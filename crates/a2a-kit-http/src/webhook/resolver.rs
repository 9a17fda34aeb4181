//! DNS resolver that filters addresses by policy.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use hyper_util::client::legacy::connect::dns::Name;
use tokio::net::lookup_host;
use tower_service::Service;

use super::WebhookPolicy;

/// Resolves and checks names when a connection is opened, so that DNS cannot return one address for
/// the check and another for the connection.
#[derive(Clone)]
pub(crate) struct Resolver {
    policy: Option<Arc<WebhookPolicy>>,
    lookup: Lookup,
}

/// Looks up the addresses of a host.
pub(crate) type Lookup = Arc<dyn Fn(String) -> Found + Send + Sync>;
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// All addresses of a host are in forbidden networks.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} resolves to a forbidden network")]
pub(super) struct PrivateHost(String);

impl Resolver {
    /// Creates a resolver. Without a policy, all addresses are allowed.
    pub(crate) fn new(policy: Option<Arc<WebhookPolicy>>, lookup: Lookup) -> Self {
        Self { policy, lookup }
    }

    /// Looks up the allowed addresses of a host.
    ///
    /// # Errors
    ///
    /// [`PrivateHost`] if there are addresses and none is allowed; those of the lookup.
    async fn find(&self, host: &str) -> Result<Vec<SocketAddr>, BoxError> {
        let mut addresses = (self.lookup)(host.to_owned()).await?;
        let Some(policy) = &self.policy else { return Ok(addresses) };
        let were_found = !addresses.is_empty();
        if !policy.allows_host(host) {
            addresses.retain(|address| policy.allows_address(address.ip()));
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

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        Box::pin(async move { Ok(resolver.find(name.as_str()).await?.into_iter()) })
    }
}
