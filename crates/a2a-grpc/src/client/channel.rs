//! The way to the other end, and what has to be true of an answer before tonic reads it.

use std::{
    error::Error as StdError,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use a2a_http::client::{ClientSettings, Connector};
use http::{
    HeaderMap, HeaderName, Request, Response, Uri,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
    uri::Scheme,
};
use http_body::Frame;
use http_body_util::BodyExt as _;
use tonic::{Status, body::Body, metadata::MetadataMap, transport::Endpoint};
use tower::{Service, ServiceExt as _, util::BoxCloneSyncService};

use super::{address::AddressError, failure::NotGrpc};
use crate::metadata::is_grpc;

pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

/// What a stream may send ahead of its reader, and all streams of the connection together, in
/// bytes. A stream that nobody reads takes its part of the connection's, so that there has to be
/// room for many of those before they keep others from being read.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// How long a ping may stay without an answer.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// A channel of any make, with the metadata that goes with every call.
#[derive(Clone)]
pub struct Channel {
    service: BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>,
    headers: Arc<HeaderMap>,
}

impl Channel {
    /// Makes connections to `uri` when they are needed.
    pub(crate) fn lazy(uri: Uri, settings: &ClientSettings) -> Result<Self, AddressError> {
        let secure = uri.scheme() == Some(&Scheme::HTTPS);
        // The connector knows what is secure; tonic must not try by itself.
        let mut parts = uri.clone().into_parts();
        parts.scheme = Some(Scheme::HTTP);
        let mut endpoint = Endpoint::from(Uri::from_parts(parts).unwrap_or_else(|_| uri.clone()))
            .origin(uri)
            .user_agent(settings.user_agent.as_str())?
            .connect_timeout(settings.connect_timeout)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_timeout(PING_TIMEOUT);
        // A silent stream may be a healthy one, so it is asked, not cut. Servers take offence at
        // pings that come more often than every five minutes, which is the default.
        if let Some(silence) = settings.idle_timeout {
            endpoint = endpoint.http2_keep_alive_interval(silence);
        }
        let connector = Connector::new(settings, secure)?;
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
        }
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    // Readiness is awaited in the call, where a failure keeps its type; the generated client
    // would turn it into text.
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
        Box::pin(async move { checked(service.oneshot(request).await?) })
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The headers are credentials.
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}

/// Refuses an answer that is not gRPC, and takes out of one what tonic would panic at.
fn checked(mut response: Response<Body>) -> Result<Response<Body>, BoxError> {
    let headers = response.headers_mut();
    if !is_grpc(headers) && !headers.contains_key(Status::GRPC_STATUS) {
        let text = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        let challenge = text(WWW_AUTHENTICATE);
        let retry_after = text(RETRY_AFTER);
        return Err(NotGrpc { status: response.status(), challenge, retry_after }.into());
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

/// Drops status details that are not base64: tonic expects that they are.
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
    fn details_that_would_panic_are_dropped_and_others_kept() {
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
