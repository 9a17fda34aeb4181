//! The response that an operation failed with.

use std::{error::Error as StdError, fmt};

use a2a_core::Error;
use http::{HeaderMap, StatusCode, Uri, header::LOCATION, response::Parts};

use crate::error_log::causes;

/// The HTTP response that an operation failed with, if its body is not an error of the protocol. It
/// is a source of the [`Error`] that the operation returns: see [`ResponseError::of`].
#[derive(Debug)]
pub struct ResponseError {
    status: StatusCode,
    location: Option<String>,
    url: Option<String>,
    /// Whether the message of the error names the status.
    is_named: bool,
    /// Why the body was not read.
    cause: Option<String>,
}

/// The URL that sent a response, after redirects.
#[derive(Clone, Debug)]
pub(crate) struct ResponseUrl(pub(crate) Uri);

impl ResponseError {
    /// Returns the response in the source chain of an error, if any.
    pub fn of(error: &Error) -> Option<&Self> {
        causes(error).find_map(|cause| cause.downcast_ref())
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The URL that sent the response, after redirects and without its query.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    pub(crate) fn new(status: StatusCode, headers: &HeaderMap, is_named: bool) -> Self {
        let location = headers.get(LOCATION).filter(|_| status.is_redirection());
        let location = location.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self { status, location, url: None, is_named, cause: None }
    }

    fn at(mut self, head: &Parts) -> Self {
        self.url = head.extensions.get().map(|ResponseUrl(url)| {
            let authority = url.authority().map_or("", |authority| authority.as_str());
            format!("{}://{authority}{}", url.scheme_str().unwrap_or_default(), url.path())
        });
        self
    }
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.url {
            Some(url) if self.is_named => write!(f, "response from {url}")?,
            Some(url) => write!(f, "HTTP status {} from {url}", self.status.as_u16())?,
            None => write!(f, "HTTP status {}", self.status.as_u16())?,
        }
        if let Some(location) = &self.location {
            write!(f, ", which redirects to {location}")?;
        }
        self.cause.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl StdError for ResponseError {}

/// Adds the URL of a response to the error that was read from it.
pub fn with_url(error: Error, head: &Parts) -> Error {
    match ResponseError::of(&error) {
        Some(ResponseError { status, is_named, .. }) => {
            let response = ResponseError::new(*status, &head.headers, *is_named).at(head);
            error.with_source(response)
        }
        None => error,
    }
}

/// Adds the response to the error about its content. The place of a syntax error is kept, unless it
/// is one in a document that was never meant to be JSON.
pub(crate) fn with_response(error: Error, head: &Parts, is_expected: bool) -> Error {
    let cause = error.source().filter(|_| is_expected).map(ToString::to_string);
    let response = ResponseError::new(head.status, &head.headers, false).at(head);
    error.with_source(ResponseError { cause, ..response })
}
