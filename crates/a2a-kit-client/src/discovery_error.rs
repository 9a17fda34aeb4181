//! Errors of card discovery and client setup.

use std::path::PathBuf;

use a2a_core::{Error, Violation};
use a2a_kit_auth::client::CredentialError;
use a2a_kit_operations::CardSignature;
use http::Uri;

/// An error of card discovery, interface selection or client setup.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// The reference is malformed.
    #[error("invalid agent card reference {reference:?}: {reason}")]
    Reference {
        /// The reference.
        reference: String,
        /// Why the reference is invalid.
        reason: String,
    },
    /// Reading the card file failed.
    #[error("failed to read agent card file {}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The connection failed or timed out.
    #[error("failed to fetch agent card from {url}")]
    Unreachable {
        /// The URL of the card.
        url: Uri,
        /// The transport error.
        source: Error,
    },
    /// The server has no card at the URL.
    #[error("no agent card at {0}")]
    NotFound(Uri),
    /// The server requires authentication for the card.
    #[error("access to agent card at {url} denied (HTTP {status})")]
    Denied {
        /// The URL of the card.
        url: Uri,
        /// 401 or 403.
        status: u16,
        /// The `WWW-Authenticate` challenge, if any.
        challenge: Option<String>,
        /// Whether the request had a credential.
        is_authenticated: bool,
    },
    /// The catalog has no entry of this name.
    #[error("no agent {name:?} in catalog {catalog}")]
    NotInCatalog {
        /// The location of the catalog.
        catalog: String,
        /// The name of the entry.
        name: String,
        /// The names of the first entries.
        names: Vec<String>,
    },
    /// The document is not a catalog, or the entry is unusable.
    #[error("invalid catalog {catalog}: {reason}")]
    InvalidCatalog {
        /// The location of the catalog.
        catalog: String,
        /// Why the catalog is unusable.
        reason: String,
    },
    /// The server responded with an unexpected status.
    #[error("unexpected HTTP status {status} from {url}{}", Reason(reason.as_ref()))]
    Status {
        /// The URL of the card.
        url: Uri,
        /// The HTTP status.
        status: u16,
        /// The target of a redirect that is not followed, because it has another origin.
        location: Option<Box<str>>,
        /// What the server said.
        reason: Option<Error>,
    },
    /// The card exceeds the size limit.
    #[error("agent card exceeds {limit} bytes")]
    TooLarge {
        /// The size limit in bytes.
        limit: usize,
    },
    /// The server responded with a web page.
    #[error("found a web page instead of an agent card at {0}")]
    WebPage(Uri),
    /// The document is not an agent card.
    #[error("malformed agent card: {0}")]
    NotACard(Error),
    /// The card violates the protocol.
    #[error("invalid agent card: {}", List(.0))]
    Invalid(Vec<Violation>),
    /// No interface of the card has a protocol binding that the client may use.
    #[error("no common protocol binding: the agent offers {0:?}")]
    NoCommonBinding(Vec<String>),
    /// No interface of the card has a protocol version that the client may use.
    #[error("no common protocol version: the agent offers {0:?}")]
    NoCommonVersion(Vec<String>),
    /// The card was fetched over TLS but has only plaintext interfaces, to which credentials are
    /// not sent.
    #[error("refusing to send credentials over plaintext connections to {0:?}")]
    Exposed(Vec<String>),
    /// No credentials satisfy the card at any interface, or they must not be sent there.
    #[error("no usable credentials for the agent")]
    Credentials(#[source] CredentialError),
    /// The card has no valid signature of a trusted key.
    #[error("untrusted agent card: signature is {0}")]
    Signature(CardSignature),
    /// The HTTP client or a binding could not be set up.
    #[error("failed to set up the client")]
    Setup(#[source] Error),
}

a2a_core::debug_as_chain!(DiscoveryError);

struct Reason<'a>(Option<&'a Error>);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |reason| write!(f, ": {}", reason.message()))
    }
}

struct List<'a>(&'a [Violation]);

impl std::fmt::Display for List<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, violation) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{} {}", violation.field, violation.description)?;
        }
        Ok(())
    }
}
