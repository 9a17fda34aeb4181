//! Asks DNS, and keeps only the addresses that may be called.

use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::WebhookPolicy;

/// Asks DNS at the moment of the connection, so that a name can't be checked with one address
/// and called with another.
#[derive(Debug)]
pub(super) struct CheckedResolver(pub(super) Arc<WebhookPolicy>);

/// Every address of a host is in a network that may not be called.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is in a private network")]
pub(super) struct PrivateHost(String);

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.0);
        Box::pin(async move {
            let host = name.as_str();
            let found: Vec<_> = lookup_host((host, 0)).await?.collect();
            let any = policy.allows_host(host);
            let was_found = !found.is_empty();
            let kept: Vec<_> =
                found.into_iter().filter(|at| any || policy.allows_address(at.ip())).collect();
            if kept.is_empty() && was_found {
                return Err(PrivateHost(host.to_owned()).into());
            }
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}
