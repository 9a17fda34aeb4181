//! TLS client certificates of a connection.

use std::sync::Arc;

use http::Extensions;

/// The verified certificate chain of the peer, in the extensions of every request on its
/// connection.
///
/// Present only if the server requested a certificate, the peer sent one, and the handshake
/// verified possession of the key and a chain to one of the client roots. Absent on plaintext
/// connections and for peers without a certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerCertificates(Arc<[Vec<u8>]>);

impl PeerCertificates {
    /// Creates a chain: the peer's own certificate first, each in DER (RFC 5280). `None` if empty.
    ///
    /// For tests, and for servers that terminate TLS by other means. The caller is responsible for
    /// verifying the chain.
    pub fn new(chain: impl IntoIterator<Item = Vec<u8>>) -> Option<Self> {
        let chain: Arc<[Vec<u8>]> = chain.into_iter().collect();
        (!chain.is_empty()).then_some(Self(chain))
    }

    /// Returns the certificates of the peer that sent a request.
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// Returns the peer's own certificate, in DER.
    pub fn leaf(&self) -> &[u8] {
        self.0.first().map_or(&[], Vec::as_slice)
    }

    /// Returns the chain as the peer sent it, its own certificate first, each in DER.
    pub fn chain(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }
}

a2a_core::debug_fields!(PeerCertificates(..));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_starts_with_the_leaf_and_is_never_empty() {
        assert_eq!(PeerCertificates::new([]), None);
        let chain = PeerCertificates::new([vec![1], vec![2]]).unwrap();
        assert_eq!(chain.leaf(), [1]);
        assert_eq!(chain.chain().collect::<Vec<_>>(), [[1], [2]]);
        let mut extensions = Extensions::new();
        assert_eq!(PeerCertificates::of(&extensions), None);
        extensions.insert(chain.clone());
        assert_eq!(PeerCertificates::of(&extensions), Some(&chain));
    }
}
