//! The cryptography of TLS: ring, or AWS-LC with the feature `aws-lc-rs`.
//!
//! Clients and servers get their provider here. The default provider of the process is neither used
//! nor set.

use std::sync::Arc;

#[cfg(feature = "aws-lc-rs")]
use rustls::crypto::aws_lc_rs as library;
#[cfg(not(feature = "aws-lc-rs"))]
use rustls::crypto::ring as library;
use rustls::{crypto::CryptoProvider, server::ProducesTickets};

use crate::TlsError;

/// Returns the provider of all connections.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(library::default_provider())
}

/// Creates the session tickets of a server. Their keys rotate every 6 hours; a ticket is valid for
/// 12.
///
/// # Errors
///
/// [`TlsError::Setup`] if the system has no random numbers.
pub fn ticketer() -> Result<Arc<dyn ProducesTickets>, TlsError> {
    library::Ticketer::new().map_err(|error| TlsError::Setup(error.into()))
}

#[cfg(test)]
mod tests {
    use rustls::NamedGroup;

    use super::*;

    #[test]
    fn feature_selects_the_library() {
        let groups: Vec<_> = provider().kx_groups.iter().map(|group| group.name()).collect();
        // Of these two, only AWS-LC has a post-quantum key exchange.
        let is_aws_lc = groups.contains(&NamedGroup::X25519MLKEM768);
        assert_eq!(is_aws_lc, cfg!(feature = "aws-lc-rs"), "{groups:?}");
    }
}
