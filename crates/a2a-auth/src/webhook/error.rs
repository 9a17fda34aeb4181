use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};

use crate::jose::{MissingKey, TokenError};

/// Why what arrived at a webhook is not believed, or not taken now.
///
/// As an answer it says no more than its status: whoever forges calls learns nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The credentials or the token of the webhook are missing or wrong.
    #[error("the call does not carry the {0} of the webhook")]
    Credential(&'static str),
    /// There is no signature.
    #[error("the call is not signed")]
    Unsigned,
    /// The signature proves nothing.
    #[error("the signature proves nothing")]
    Token(#[from] TokenError),
    /// What is signed can't be read, or something is missing in it.
    #[error("the claims can't be read")]
    Claims(#[source] serde_json::Error),
    /// What is signed is not this call.
    #[error("the claim {0} does not fit")]
    Claim(&'static str),
    /// The same call came before.
    #[error("the call came before")]
    Replayed,
    /// No published key has signed this.
    #[error("the key of the signature is not published")]
    UnknownKey,
    /// The keys can't be had at the moment; the agent tries again later.
    #[error("the keys can't be had")]
    NoKeys(#[source] MissingKey),
    /// More calls came than can be remembered; the agent tries again later.
    #[error("more calls came than can be remembered")]
    Overloaded,
    /// The body is not an event.
    #[error("the body is not an event")]
    Malformed(#[source] a2a_core::Error),
    /// The event is of a task that nobody here waits for.
    #[error("nobody waits for this task")]
    UnknownTask,
}

impl ReceiveError {
    /// The status to answer with. Agents try again after 503, and give up after the others.
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
