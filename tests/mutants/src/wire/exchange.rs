//! A request as seen by a fault.

use a2a_kit_http::card::WELL_KNOWN_PATH;
use bytes::Bytes;
use http::{HeaderMap, Method, header, request};
use serde_json::Value;

use crate::{Binding, Interface, Revision};

/// A request: its interface, its operation, and its document.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The interface that serves the request.
    pub interface: Interface,
    /// The method of JSON-RPC or gRPC (`GetTask`, `tasks/get`), or method and path of HTTP+JSON
    /// (`GET /tasks/1`), without the `/v1` of 0.3.
    pub operation: String,
    /// The JSON-RPC parameters, or the body of HTTP+JSON; null without one.
    pub document: Value,
    /// The JSON-RPC id; null without one.
    pub id: Value,
    /// The query of the URL; empty without one.
    pub query: String,
}

impl Exchange {
    /// Reads a request; `None` if it is for none of the bindings.
    pub(super) fn read(head: &request::Parts, body: &Bytes) -> Option<Self> {
        let path = head.uri.path();
        let query = head.uri.query().unwrap_or_default().to_owned();
        if media_type(&head.headers).starts_with("application/grpc") {
            let (service, method) = path.trim_start_matches('/').split_once('/')?;
            let revision = match service {
                "a2a.v1.A2AService" => Revision::V0_3,
                _ => Revision::V1_0,
            };
            let interface = Interface { binding: Binding::Grpc, revision };
            return Some(Self::new(interface, method.to_owned(), Value::Null, query));
        }
        if path.starts_with("/.well-known/") {
            return None;
        }
        let mut document: Value = serde_json::from_slice(body).unwrap_or_default();
        if path == "/" && head.method == Method::POST {
            let method = document["method"].as_str().unwrap_or_default().to_owned();
            let is_old = method.contains('/');
            let revision = if is_old { Revision::V0_3 } else { Revision::V1_0 };
            let interface = Interface { binding: Binding::JsonRpc, revision };
            let id = document["id"].take();
            return Some(Self {
                id,
                ..Self::new(interface, method, document["params"].take(), query)
            });
        }
        let (path, revision) = match path.strip_prefix("/v1/") {
            Some(rest) => (format!("/{rest}"), Revision::V0_3),
            None => (path.to_owned(), Revision::V1_0),
        };
        let interface = Interface { binding: Binding::Rest, revision };
        Some(Self::new(interface, format!("{} {path}", head.method), document, query))
    }

    fn new(interface: Interface, operation: String, document: Value, query: String) -> Self {
        Self { interface, operation, document, id: Value::Null, query }
    }

    /// Returns whether this is the retrieval of the agent card.
    pub(super) fn is_card(head: &request::Parts) -> bool {
        head.uri.path() == WELL_KNOWN_PATH
    }
}

/// The media type of a message; empty without one.
pub(super) fn media_type(headers: &HeaderMap) -> &str {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
