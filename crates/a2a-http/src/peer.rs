//! What TLS has proved of the peer of a connection.

use std::{fmt, sync::Arc};

use http::Extensions;

/// The certificates with which the peer of a connection proved who it is, in the extensions of
/// every request over that connection.
///
/// They are there only where the server asked for a certificate, the peer sent one, and the
/// handshake proved that it holds the key and that one of the server's client roots vouches for
/// it. Absent on connections in clear and for peers without a certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerCertificates(Arc<[Vec<u8>]>);

impl PeerCertificates {
    /// Creates the chain of a peer: its own certificate first, each in DER (RFC 5280). `None`
    /// without any.
    ///
    /// For tests, and for servers that end TLS by other means; whoever calls it vouches that the
    /// chain was verified.
    pub fn new(chain: impl IntoIterator<Item = Vec<u8>>) -> Option<Self> {
        let chain: Arc<[Vec<u8>]> = chain.into_iter().collect();
        (!chain.is_empty()).then_some(Self(chain))
    }

    /// Finds the certificates of the peer that made a request.
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// The peer's own certificate, in DER.
    pub fn leaf(&self) -> &[u8] {
        self.0.first().map_or(&[], Vec::as_slice)
    }

    /// The whole chain as the peer sent it, its own certificate first, each in DER.
    pub fn chain(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }
}

impl fmt::Debug for PeerCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerCertificates({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_begins_with_the_certificate_of_the_peer_and_is_never_empty() {
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
