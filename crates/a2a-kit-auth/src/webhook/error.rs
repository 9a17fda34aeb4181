use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};

use crate::jose::{MissingKey, TokenError};

/// Why a delivery was rejected.
///
/// As a response it has only a status, so that forged deliveries learn nothing.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The credentials or the token of the webhook are missing or invalid.
    #[error("missing or invalid webhook {0}")]
    Credential(&'static str),
    /// There is no signature.
    #[error("missing signature")]
    Unsigned,
    /// The signature is malformed or invalid.
    #[error("invalid signature token")]
    Token(#[from] TokenError),
    /// The claims are malformed or incomplete.
    #[error("malformed claims")]
    Claims(#[source] serde_json::Error),
    /// A claim does not match this delivery.
    #[error("claim {0:?} does not match")]
    Claim(&'static str),
    /// The delivery was already received.
    #[error("replayed delivery")]
    Replayed,
    /// The signing key is not among the published keys.
    #[error("unknown signing key")]
    UnknownKey,
    /// The keys are unavailable; the agent retries later.
    #[error("failed to fetch the signing keys")]
    NoKeys(#[source] MissingKey),
    /// The replay cache is full; the agent retries later.
    #[error("replay cache is full")]
    Overloaded,
    /// The body has a content coding.
    #[error("unsupported content coding {0}")]
    Coding(String),
    /// The body is not an event.
    #[error("malformed event")]
    Malformed(#[source] a2a_core::Error),
    /// The event is for an unexpected task.
    #[error("unknown task")]
    UnknownTask,
}

a2a_core::debug_as_chain!(ReceiveError);

impl ReceiveError {
    /// The response status. Agents retry after 503, and give up after the others.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Credential(_)
            | Self::Unsigned
            | Self::Token(_)
            | Self::Claims(_)
            | Self::Claim(_)
            | Self::Replayed
            | Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::NoKeys(_) | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Coding(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::UnknownTask => StatusCode::NOT_FOUND,
        }
    }
}

impl IntoResponse for ReceiveError {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = status.into_response();
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
