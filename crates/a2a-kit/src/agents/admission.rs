//! Which requests may send a long body before their agent is known.

use a2a_core::Result;
#[cfg(feature = "auth")]
use a2a_kit_auth::server::Enforcement;
use http::request::Parts;

/// Whether an agent admits a request by its head.
#[derive(Clone, Default)]
pub(crate) enum Admission {
    /// Callers need no credentials, or something in front authenticates them.
    #[default]
    Open,
    #[cfg(feature = "auth")]
    Guarded(Enforcement),
}

impl Admission {
    /// Returns whether the agent admits the request, without a trace if it does not.
    ///
    /// # Errors
    ///
    /// Why its credentials are rejected.
    #[cfg_attr(
        not(feature = "auth"),
        expect(clippy::unused_async, unused_variables, reason = "there is no guard")
    )]
    pub(super) async fn admits(&self, request: &Parts) -> Result<bool> {
        match self {
            Self::Open => Ok(true),
            #[cfg(feature = "auth")]
            Self::Guarded(enforcement) => enforcement.admits(request).await,
        }
    }

    /// Authenticates a request whose credentials are known; `false` leaves it to the layer, if there is
    /// one.
    #[cfg_attr(not(feature = "auth"), expect(unused_variables, reason = "there is no guard"))]
    pub(crate) fn admits_known(&self, request: &mut Parts) -> bool {
        match self {
            Self::Open => true,
            #[cfg(feature = "auth")]
            Self::Guarded(enforcement) => enforcement.authenticate_known(request),
        }
    }

    /// The number of its layers around the operations.
    pub(crate) fn layers(&self) -> usize {
        match self {
            Self::Open => 0,
            #[cfg(feature = "auth")]
            Self::Guarded(_) => 1,
        }
    }

    /// Returns whether the card is for authenticated callers only.
    pub(crate) fn has_private_card(&self) -> bool {
        match self {
            Self::Open => false,
            #[cfg(feature = "auth")]
            Self::Guarded(enforcement) => enforcement.has_private_card(),
        }
    }

    /// Records a rejected request.
    #[cfg_attr(not(feature = "auth"), expect(unused_variables, reason = "there is no guard"))]
    pub(super) fn record_failure(&self, request: &Parts) {
        match self {
            Self::Open => {}
            #[cfg(feature = "auth")]
            Self::Guarded(enforcement) => enforcement.record_failure(request),
        }
    }
}
