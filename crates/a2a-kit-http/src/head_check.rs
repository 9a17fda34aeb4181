//! Middleware that checks request heads.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};

use a2a_core::Result;
use axum::{Router, extract::Request, response::Response, routing::Route};
use futures_util::future::Either;
use http::request::Parts;
use tower::{Service, layer::layer_fn};

use crate::error_response;

/// Applies a check, which may add extensions, to every route, and responds with its error if it fails.
pub(crate) fn check_heads<C>(router: Router, check: C) -> Router
where
    C: Fn(&mut Parts) -> Result<()> + Clone + Send + Sync + 'static,
{
    router.layer(layer_fn(move |route: Route| HeadCheck { route, check: check.clone() }))
}

#[derive(Clone)]
struct HeadCheck<C> {
    route: Route,
    check: C,
}

impl<C: Fn(&mut Parts) -> Result<()>> Service<Request> for HeadCheck<C> {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<<Route as Service<Request>>::Future, Ready<Result<Response, Infallible>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.route, cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        match (self.check)(&mut parts) {
            Ok(()) => Either::Left(self.route.call(Request::from_parts(parts, body))),
            Err(error) => Either::Right(ready(Ok(error_response::write(&parts, &error)))),
        }
    }
}
