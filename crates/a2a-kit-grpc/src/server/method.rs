//! Routes the calls of a service to its methods.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use a2a_core::{Error, ErrorKind, Result};
use a2a_kit_http::{DirectHandler, Limits, body};
use axum::{Router, extract::Request, response::Response};
use bytes::Bytes;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Either, NeverError},
};
use http::{StatusCode, request::Parts};
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

/// Selects what responds to a call of a method, as in [`routes`], by its head.
pub(super) fn handlers<S>(
    name: &str,
    service: S,
    methods: &[(&'static str, Method<S>)],
) -> impl Fn(&Parts) -> Option<DirectHandler> + use<S>
where
    S: Send + Sync + 'static,
{
    let (prefix, service) = (format!("/{name}/"), Arc::new(service));
    let handler = |&(method, run): &(&'static str, Method<S>)| {
        let service = Arc::clone(&service);
        let handler: DirectHandler = Arc::new(move |parts, body| call(&service, run, parts, body));
        (method, handler)
    };
    let handlers: Vec<_> = methods.iter().map(handler).collect();
    move |head| {
        let method = head.uri.path().strip_prefix(&*prefix).filter(|_| is_grpc(&head.headers))?;
        handlers.iter().find(|(name, _)| *name == method).map(|(_, handler)| Arc::clone(handler))
    }
}

/// Calls a method with a body, unless it could not be read.
fn call<S>(
    service: &Arc<S>,
    method: Method<S>,
    parts: Parts,
    body: Result<Bytes>,
) -> BoxFuture<'static, Response> {
    match Received::new(parts, body) {
        Ok(received) => method(Arc::clone(service), received),
        Err(status) => ready(reject(status)).boxed(),
    }
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
            let body = body::read(body, &limits).await;
            call(&service, method, parts, body).await
        };
        Either::Right(responded.boxed().never_error())
    }
}
