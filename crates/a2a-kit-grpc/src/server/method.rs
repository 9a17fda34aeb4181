//! Routes the calls of a service to its methods.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use a2a_core::{Error, ErrorKind};
use a2a_kit_http::{Limits, body};
use axum::{Router, extract::Request, response::Response};
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Either, NeverError},
};
use http::StatusCode;
use tower::Service;

use super::message::{Received, reject};
use crate::{metadata::is_grpc, status};

/// A method of a service.
pub type Method<S> = fn(Arc<S>, Received) -> BoxFuture<'static, Response>;

/// Serves the methods of a service, by their names; calls of others fail. Requests that are not gRPC
/// get HTTP status 415.
///
/// The router has no fallback, so that it can be merged with others.
pub fn routes<S>(name: &str, service: S, limits: &Limits, methods: &[(&str, Method<S>)]) -> Router
where
    S: Send + Sync + 'static,
{
    let (service, limits) = (Arc::new(service), Arc::new(limits.clone()));
    let (service, limits) = (&service, &limits);
    let route = |method| MethodRoute { service: service.clone(), limits: limits.clone(), method };
    let others = Router::new().route_service(&format!("/{name}/{{*method}}"), route(unknown));
    methods.iter().fold(others, |router, (method, run)| {
        router.route_service(&format!("/{name}/{method}"), route(*run))
    })
}

fn unknown<S>(_service: Arc<S>, _received: Received) -> BoxFuture<'static, Response> {
    let error = Error::new(ErrorKind::MethodNotFound, "unknown method");
    ready(reject(status::encode(error))).boxed()
}

struct MethodRoute<S> {
    service: Arc<S>,
    limits: Arc<Limits>,
    method: Method<S>,
}

impl<S> Clone for MethodRoute<S> {
    fn clone(&self) -> Self {
        Self { service: self.service.clone(), limits: self.limits.clone(), method: self.method }
    }
}

impl<S: Send + Sync + 'static> Service<Request> for MethodRoute<S> {
    type Response = Response;
    type Error = Infallible;
    type Future =
        Either<Ready<Result<Response, Infallible>>, NeverError<BoxFuture<'static, Response>>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if !is_grpc(request.headers()) {
            let mut response = Response::default();
            *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Either::Left(ready(Ok(response)));
        }
        let Self { service, limits, method } = self.clone();
        let (parts, body) = request.into_parts();
        let responded = async move {
            match Received::new(parts, body::read(body, &limits).await) {
                Ok(received) => method(service, received).await,
                Err(status) => reject(status),
            }
        };
        Either::Right(responded.boxed().never_error())
    }
}
