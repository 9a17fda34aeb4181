//! Middleware that decides by the heads of requests.

use std::{
    convert::Infallible,
    future::ready,
    task::{Context, Poll},
};

use a2a_core::Result;
use axum::{Router, extract::Request, response::Response, routing::Route};
use futures_util::future::{BoxFuture, Either, FutureExt as _};
use http::request::Parts;
use tower::{Service, layer::layer_fn};

use crate::error_response;

/// A response in place of that of the routes.
pub(crate) type Answer = BoxFuture<'static, Result<Response, Infallible>>;

/// Applies a check, which may add extensions, to every route, and responds with its error if it fails.
pub(crate) fn check_heads<C>(router: Router, check: C) -> Router
where
    C: Fn(&mut Parts) -> Result<()> + Clone + Send + Sync + 'static,
{
    answer_heads(router, move |parts| {
        let error = check(parts).err()?;
        Some(ready(Ok(error_response::write(parts, &error))).boxed())
    })
}

/// Responds to the requests for whose heads there is an answer. Others reach the routes.
pub(crate) fn answer_heads<A>(router: Router, answer: A) -> Router
where
    A: Fn(&mut Parts) -> Option<Answer> + Clone + Send + Sync + 'static,
{
    router.layer(layer_fn(move |route: Route| HeadCheck { route, answer: answer.clone() }))
}

#[derive(Clone)]
struct HeadCheck<A> {
    route: Route,
    answer: A,
}

impl<A: Fn(&mut Parts) -> Option<Answer>> Service<Request> for HeadCheck<A> {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<<Route as Service<Request>>::Future, Answer>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.route, cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        match (self.answer)(&mut parts) {
            None => Either::Left(self.route.call(Request::from_parts(parts, body))),
            Some(answer) => Either::Right(answer),
        }
    }
}
