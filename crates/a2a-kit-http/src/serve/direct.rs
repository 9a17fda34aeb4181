//! Operations that a server calls without its router.

use std::{sync::Arc, task::Context};

use a2a_core::Result;
use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Response, request::Parts};
use hyper::body::Incoming;

use super::request::RequestBody;
use crate::{
    Limits,
    body::{self, Arrived},
    parse::PendingBody,
};

/// Responds to a request with this head and body, or to the error that prevented the body from
/// being read.
pub type DirectHandler =
    Arc<dyn Fn(Parts, Result<Bytes>) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

/// Selects the handler of a request by its head, to which it may add extensions; `None` for the
/// router.
type Select = Arc<dyn Fn(&mut Parts) -> Option<DirectHandler> + Send + Sync>;

/// The requests that a server hands to a binding itself. A router and each of its layers box the
/// request, its body and the response, and copy the routes, which takes a tenth of a small request.
///
/// A handler responds as the router would.
#[derive(Clone)]
pub struct DirectRoutes(Select);

a2a_core::debug_fields!(DirectRoutes(..));

impl DirectRoutes {
    /// Creates routes from a function that selects the handler of a request by its head, to which it
    /// may add extensions.
    pub fn new(
        select: impl Fn(&mut Parts) -> Option<DirectHandler> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(select))
    }

    pub(super) fn select(&self, head: &mut Parts) -> Option<DirectHandler> {
        (self.0)(head)
    }
}

/// A request whose body has yet to be read.
pub(super) struct DirectRequest {
    pub(super) handler: DirectHandler,
    pub(super) head: Parts,
    pub(super) body: RequestBody<Incoming>,
    pub(super) limits: Arc<Limits>,
}

impl DirectRequest {
    /// Calls the handler: immediately if the body has arrived.
    pub(super) fn call(self, cx: &mut Context<'_>) -> BoxFuture<'static, Response<Body>> {
        let Self { handler, head, body, limits } = self;
        match body::read_arrived(body, &limits, cx) {
            Arrived::Whole(body) => handler(head, Ok(body)),
            Arrived::Partly(body) => Box::pin(call_later(handler, head, body, limits)),
        }
    }
}

async fn call_later(
    handler: DirectHandler,
    head: Parts,
    body: Body,
    limits: Arc<Limits>,
) -> Response<Body> {
    let body = body::read(body, &limits).await;
    let body = body.map(|body| PendingBody::hold(&head.extensions, body));
    handler(head, body).await
}
