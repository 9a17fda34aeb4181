//! The operations of an agent without layers of the application, which the server calls without its
//! router.

use std::{net::SocketAddr, sync::Arc};

use a2a_kit_http::{DirectHandler, DirectRoutes, repeated_fields};
use a2a_kit_operations::AgentLabel;
use axum::body::Body;
use futures_util::FutureExt as _;
use http::{HeaderMap, Method, Response, request::Parts as Head};

#[cfg(feature = "compat")]
use crate::older::Revisions;
use crate::routes::Parts;

impl Parts {
    /// The operations that need no router; `None` if layers are around them.
    ///
    /// Requests that a layer of every server rejects are left to the router.
    pub(crate) fn direct(&self, address: SocketAddr) -> Option<DirectRoutes> {
        let has_layers = self.layers.len() > self.admission.layers()
            || self.address_rate.is_some()
            || self.config.metrics_label != AgentLabel::NONE;
        if has_layers {
            return None;
        }
        let cors = Arc::new(self.config.constant_cors_headers()?);
        let with_cors = |handler| with_headers(handler, &cors);
        let jsonrpc = self.direct_jsonrpc().map(with_cors);
        let rest = self.direct_rest().map(with_cors);
        #[cfg(feature = "grpc")]
        let grpc = (self.config.bindings.grpc && self.config.serves_current())
            .then(|| a2a_kit_grpc::handlers(Arc::clone(&self.agent), &self.grpc_options()));
        #[cfg(not(feature = "grpc"))]
        let grpc = None::<fn(&Head) -> Option<DirectHandler>>;
        let guard = self.config.site_guard(address);
        let admission = self.admission.clone();
        Some(DirectRoutes::new(move |head| {
            let handler = match head.uri.path() {
                "/" if head.method == Method::POST => jsonrpc.clone()?,
                "/message:send" | "/message:stream" if head.method == Method::POST => {
                    rest.clone()?
                }
                path if reads_task(head, path) => rest.clone()?,
                _ => grpc.as_ref()?(head)?,
            };
            let is_admitted = repeated_fields::check(&head.headers).is_ok()
                && guard.as_ref().is_none_or(|guard| guard.check(head).is_ok())
                && admission.admits_known(head);
            is_admitted.then_some(handler)
        }))
    }

    /// JSON-RPC at the root.
    fn direct_jsonrpc(&self) -> Option<DirectHandler> {
        if !self.config.bindings.jsonrpc {
            return None;
        }
        #[cfg(feature = "compat")]
        if self.config.revisions != Revisions::latest() {
            let options = self.config.compat_options();
            return Some(a2a_kit_compat::server::jsonrpc_handler(Arc::clone(&self.agent), options));
        }
        #[cfg(feature = "jsonrpc")]
        return Some(a2a_kit_jsonrpc::handler(Arc::clone(&self.agent), self.config.options()));
        #[cfg(not(feature = "jsonrpc"))]
        None
    }

    /// HTTP+JSON of the current revision at the root.
    fn direct_rest(&self) -> Option<DirectHandler> {
        #[cfg(feature = "rest")]
        if self.config.bindings.rest
            && self.config.paths.rest_prefix.is_none()
            && self.config.serves_current()
        {
            return Some(a2a_kit_rest::handler(Arc::clone(&self.agent), self.config.options()));
        }
        None
    }
}

/// Adds headers to all responses of a handler.
fn with_headers(handler: DirectHandler, headers: &Arc<HeaderMap>) -> DirectHandler {
    if headers.is_empty() {
        return handler;
    }
    let headers = Arc::clone(headers);
    Arc::new(move |head, body| {
        let (headers, response) = (Arc::clone(&headers), handler(head, body));
        let add = move |mut response: Response<Body>| {
            for (name, value) in &*headers {
                response.headers_mut().append(name, value.clone());
            }
            response
        };
        response.map(add).boxed()
    })
}

/// Returns whether a request reads a task with an id of this project: routes of the application come
/// before `/tasks/{id}`, but have no such names.
fn reads_task(head: &Head, path: &str) -> bool {
    let is_id = |id: &str| {
        id.len() == 36 && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    };
    head.method == Method::GET && path.strip_prefix("/tasks/").is_some_and(is_id)
}
