//! What stands behind a scheme of the card.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use a2a_core::v1::security_scheme::Scheme;
use a2a_operations::Caller;
use async_trait::async_trait;

use super::Presented;

/// Verifies what callers present by a scheme of the card.
#[async_trait]
pub trait Verifier: fmt::Debug + Send + Sync + 'static {
    /// Returns whether callers of a scheme present what this verifies.
    fn fits(&self, scheme: &Scheme) -> bool;

    /// Returns whether trying often enough finds what is right. What can't be guessed, as a
    /// signature, is looked at even while its address has to wait.
    fn can_be_guessed(&self) -> bool;

    /// Returns how often a caller whose stream stays open is verified again, where what is good
    /// now may be taken back before it expires. Default: never.
    ///
    /// A stream ends when its caller is refused, is called otherwise, or has lost scopes; it goes
    /// on where that can't be found out at the moment.
    fn review_interval(&self) -> Option<Duration> {
        None
    }

    /// Returns who presents this, with what it is good for and until when. The caller has to have
    /// a subject.
    ///
    /// No answer depends on a secret by more than whether it is the right one, the time that it
    /// takes included.
    ///
    /// # Errors
    ///
    /// [`Rejection`]. What it says goes to the audit log, and never to the peer.
    async fn verify(&self, presented: &Presented) -> Result<Caller, Rejection>;
}

#[async_trait]
impl<V: Verifier + ?Sized> Verifier for Arc<V> {
    fn fits(&self, scheme: &Scheme) -> bool {
        (**self).fits(scheme)
    }

    fn can_be_guessed(&self) -> bool {
        (**self).can_be_guessed()
    }

    fn review_interval(&self) -> Option<Duration> {
        (**self).review_interval()
    }

    async fn verify(&self, presented: &Presented) -> Result<Caller, Rejection> {
        (**self).verify(presented).await
    }
}

/// Why what was presented proves nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// It is not right. Tries of this kind are counted, and throttled.
    #[error("{0}")]
    Invalid(&'static str),
    /// It was right, and is not any more.
    #[error("it has expired")]
    Expired,
    /// It is in order, but nobody that is known here.
    #[error("it names nobody who is known here")]
    Unknown,
    /// It can't be verified at the moment.
    #[error("it can't be verified at the moment")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
    /// Too much is being verified at the moment.
    #[error("too much is being verified at the moment")]
    Overloaded,
}
