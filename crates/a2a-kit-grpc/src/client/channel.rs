//! The connection, and checks of responses before tonic reads them.

use std::{
    error::Error as StdError,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use a2a_kit_http::client::{ClientSettings, Connector, ReadBudget};
use http::{
    HeaderMap, HeaderName, Request, Response, Uri,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
    uri::Scheme,
};
use http_body::Frame;
use http_body_util::BodyExt as _;
use tonic::{Status, body::Body, metadata::MetadataMap, transport::Endpoint};
use tower::{Service, ServiceExt as _, util::BoxCloneSyncService};

use super::{
    address::{self, AddressError},
    failure::{NotGrpc, UnexpectedCoding},
    held_body,
};
use crate::metadata::is_grpc;

pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

/// Receive windows of a stream and of a connection, in bytes. A stream that is not read occupies
/// its part of the connection's window, which has to be large enough for many of them.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// Timeout of a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// A channel with the metadata of every call.
#[derive(Clone)]
pub struct Channel {
    service: BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>,
    headers: Arc<HeaderMap>,
    budget: Option<ReadBudget>,
}

impl Channel {
    /// Creates connections to `uri` on demand.
    pub(crate) fn lazy(uri: Uri, settings: &ClientSettings) -> Result<Self, AddressError> {
        // TLS is up to the connector, not to tonic.
        let mut parts = uri.clone().into_parts();
        let scheme = parts.scheme.replace(Scheme::HTTP).unwrap_or(Scheme::HTTP);
        let mut endpoint = Endpoint::from(Uri::from_parts(parts).unwrap_or_else(|_| uri.clone()))
            .origin(uri)
            .user_agent(settings.user_agent.as_str())
            .map_err(|error| AddressError::Transport(error.into()))?
            .connect_timeout(settings.connect_timeout)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_timeout(PING_TIMEOUT);
        // An idle stream may be healthy, so it is pinged instead of closed. Servers reject pings
        // more frequent than every five minutes, the default.
        if let Some(silence) = settings.idle_timeout {
            endpoint = endpoint.http2_keep_alive_interval(silence);
        }
        let connector = Connector::new(settings, scheme)?;
        Ok(Self::new(endpoint.connect_with_connector_lazy(connector), settings))
    }

    pub(crate) fn new<S, B>(service: S, settings: &ClientSettings) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service
            .map_response(|response: Response<B>| response.map(Body::new))
            .map_err(Into::into);
        Self {
            service: BoxCloneSyncService::new(service),
            headers: Arc::new(settings.headers.clone()),
            budget: settings.read_budget.clone(),
        }
    }
}

/// Creates a channel to the server at `address`, like [`Client::connect`](crate::Client::connect).
/// It connects on first use.
///
/// # Errors
///
/// If the address is invalid.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn channel(address: &str, settings: &ClientSettings) -> Result<Channel, AddressError> {
    Channel::lazy(address::parse(address)?, settings)
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    // Readiness is awaited in the call, where errors keep their type; the generated client would
    // convert them to text.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        for (name, value) in self.headers.as_ref() {
            if !request.headers().contains_key(name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        let service = self.service.clone();
        let budget = self.budget.clone();
        Box::pin(async move {
            let response = checked(service.oneshot(request).await?)?;
            Ok(match budget {
                Some(budget) => held_body::counted(response, budget),
                None => response,
            })
        })
    }
}

// The headers contain credentials.
a2a_core::debug_fields!(Channel(..));

/// Rejects responses that are not gRPC or in a coding that was not requested, and removes details that would make tonic panic.
fn checked(mut response: Response<Body>) -> Result<Response<Body>, BoxError> {
    let headers = response.headers_mut();
    if !is_grpc(headers) && !headers.contains_key(Status::GRPC_STATUS) {
        let text = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        let challenge = text(WWW_AUTHENTICATE);
        let retry_after = text(RETRY_AFTER);
        return Err(NotGrpc { status: response.status(), challenge, retry_after }.into());
    }
    // tonic takes it for a method that is not implemented.
    if let Some(coding) = headers.get(ENCODING).filter(|coding| *coding != "identity") {
        let coding = coding.to_str().unwrap_or("?").chars().take(80).collect();
        return Err(UnexpectedCoding(coding).into());
    }
    drop_broken_details(headers);
    Ok(response.map(|body| {
        Body::new(body.map_frame(|frame| match frame.into_trailers() {
            Ok(mut trailers) => {
                drop_broken_details(&mut trailers);
                Frame::trailers(trailers)
            }
            Err(frame) => frame,
        }))
    }))
}

/// Drops status details that are not base64, which tonic expects.
fn drop_broken_details(headers: &mut HeaderMap) {
    let Some(details) = headers.get(DETAILS) else {
        return;
    };
    let mut alone = HeaderMap::with_capacity(1);
    alone.insert(DETAILS, details.clone());
    let metadata = MetadataMap::from_headers(alone);
    let is_base64 =
        metadata.get_bin(DETAILS.as_str()).is_some_and(|value| value.to_bytes().is_ok());
    if !is_base64 {
        headers.remove(DETAILS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_details_that_would_panic_are_dropped() {
        for (details, kept) in [("AAAA", true), ("AA", true), ("AA==", true), ("!", false)] {
            let mut headers = HeaderMap::new();
            headers.insert(DETAILS, details.parse().unwrap());
            headers.insert(Status::GRPC_STATUS, "5".parse().unwrap());
            drop_broken_details(&mut headers);
            assert_eq!(headers.contains_key(DETAILS), kept, "{details:?}");
            assert!(Status::from_header_map(&headers).is_some(), "{details:?}");
        }
    }
}
