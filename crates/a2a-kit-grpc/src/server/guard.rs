//! Converts errors of tonic to errors of the protocol.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};

use a2a_core::{Error, ErrorKind};
use futures_util::{
    TryFutureExt as _,
    future::{Either, MapOk},
};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tonic::{Code, Status, body::Body, server::NamedService};
use tower::Service;

use crate::{metadata::is_grpc, status};

const DETAILS: &str = "grpc-status-details-bin";

/// A service whose errors are all errors of the protocol.
///
/// tonic rejects malformed frames before the service is called, with its own status codes and
/// without the `ErrorInfo` that every error must have. The same applies to bodies that the server
/// aborts.
#[derive(Clone, Debug)]
pub struct FrameGuard<S>(pub S);

impl<S: NamedService> NamedService for FrameGuard<S> {
    const NAME: &'static str = S::NAME;
}

type Answer = Response<Body>;

impl<S> Service<Request<Body>> for FrameGuard<S>
where
    S: Service<Request<Body>, Response = Answer, Error = Infallible>,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = Either<Ready<Result<Answer, Infallible>>, MapOk<S::Future, fn(Answer) -> Answer>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if is_grpc(request.headers()) {
            let request = request.map(|body| Body::new(body.map_err(given_up)));
            Either::Right(self.0.call(request).map_ok(translated as fn(Answer) -> Answer))
        } else {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Either::Left(ready(Ok(response)))
        }
    }
}

fn given_up(status: Status) -> Status {
    a2a_kit_http::body::failure(&status).map_or(status, status::encode)
}

fn translated(mut response: Answer) -> Answer {
    // Errors of the service have details, and an open stream has no status yet.
    if response.headers().contains_key(DETAILS) {
        return response;
    }
    let Some(rejection) = Status::from_header_map(response.headers()) else {
        return response;
    };
    let Some(error) = error_of(&rejection) else {
        return response;
    };
    let encoded = status::encode(error).into_http::<Body>();
    response.headers_mut().extend(encoded.into_parts().0.headers);
    response
}

fn error_of(rejection: &Status) -> Option<Error> {
    let kind = match rejection.code() {
        Code::Ok => return None,
        Code::OutOfRange | Code::ResourceExhausted => ErrorKind::PayloadTooLarge,
        Code::Unimplemented => ErrorKind::MethodNotFound,
        // An empty, truncated or invalid frame: tonic treats it as a server error, but the client
        // caused it.
        Code::Internal => ErrorKind::InvalidRequest,
        other => ErrorKind::from_grpc(i32::from(other)),
    };
    let message = match (kind, rejection.message()) {
        (ErrorKind::PayloadTooLarge, _) => "the message exceeds the size limit".into(),
        (_, "") => "unknown method".into(),
        (_, message) => message.to_owned(),
    };
    Some(Error::new(kind, message))
}
