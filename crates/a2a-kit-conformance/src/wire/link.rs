//! A connection to one interface of the agent.

use std::sync::atomic::{AtomicU64, Ordering};

use a2a_core::ProtocolVersion;
use a2a_kit_client::Transport;
use a2a_kit_http::client::ClientSettings;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use super::{
    grpc::{self, GrpcCall, GrpcLink},
    http::{Captured, FirstEvent, RawHttp},
    jsonrpc,
    request::{Call, Principal, VersionHeader},
    rest,
};
use crate::{
    exchange::{Answer, Exchange, is_streaming},
    identity::Identity,
    interfaces::Interface,
};

/// A connection to one interface of the agent.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) binding: Transport,
    pub(crate) version: ProtocolVersion,
    pub(crate) url: String,
    tenant: String,
    http: RawHttp,
    grpc: Option<GrpcLink>,
    pub(crate) first: Identity,
    pub(crate) second: Option<Identity>,
    /// URIs of the extensions that the card requires.
    pub(crate) required_extensions: Vec<String>,
    next_id: AtomicU64,
}

impl Link {
    /// Prepares a connection for a caller without credentials.
    pub(crate) fn new(
        interface: &Interface,
        http: RawHttp,
        settings: &ClientSettings,
    ) -> Result<Self, String> {
        let Interface { binding, version, url, tenant } = interface.clone();
        let grpc = match binding {
            Transport::Grpc => Some(GrpcLink::new(&url, settings)?),
            Transport::JsonRpc | Transport::Rest => None,
        };
        let (first, second, required_extensions) = Default::default();
        let next_id = AtomicU64::new(1);
        Ok(Self {
            binding,
            version,
            url,
            tenant,
            http,
            grpc,
            first,
            second,
            required_extensions,
            next_id,
        })
    }

    /// Makes a call.
    pub(crate) async fn call(&self, call: Call) -> Exchange {
        self.call_and_tell(call, None).await
    }

    /// Makes a call, and tells when the first event of its stream has arrived.
    pub(crate) async fn call_and_tell(&self, mut call: Call, first: FirstEvent) -> Exchange {
        if self.version == ProtocolVersion::V1_0
            && !self.tenant.is_empty()
            && self.binding != Transport::Rest
            && let Some(params) = call.params.as_object_mut()
        {
            params.insert("tenant".to_owned(), json!(self.tenant));
        }
        match (self.binding, &self.grpc) {
            (Transport::JsonRpc, _) => self.jsonrpc(call, first).await,
            (Transport::Rest, _) => self.rest(call, first).await,
            (Transport::Grpc, Some(grpc)) => self.grpc(grpc, call, first).await,
            (Transport::Grpc, None) => self.unsent(call, "there is no connection".to_owned()),
        }
    }

    async fn jsonrpc(&self, call: Call, first: FirstEvent) -> Exchange {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let id = json!(format!("a2a-conformance-{number}"));
        let written = || jsonrpc::body(call.operation, &call.params, &id);
        let body = call.raw_body.clone().unwrap_or_else(written);
        let headers = self.http_headers(&call, true);
        let url = self.address("", call.principal);
        let captured = self.http.send(Method::POST, &url, headers, body, first).await;
        let answer = jsonrpc::of_captured(&captured, &id);
        let id = Some(id).filter(|_| call.raw_body.is_none());
        self.exchange(call, id, captured, answer)
    }

    async fn rest(&self, call: Call, first: FirstEvent) -> Exchange {
        let prefix = match self.version {
            ProtocolVersion::V1_0 if self.tenant.is_empty() => String::new(),
            ProtocolVersion::V1_0 => format!("/{}", self.tenant),
            _ => "/v1".to_owned(),
        };
        let route = rest::route(call.operation, &call.params, &prefix);
        let written = || route.body.map(|body| body.to_string().into()).unwrap_or_default();
        let body = call.raw_body.clone().unwrap_or_else(written);
        let headers = self.http_headers(&call, !body.is_empty());
        let url = self.address(&route.path, call.principal);
        let captured = self.http.send(route.method, &url, headers, body, first).await;
        let answer = rest::of_captured(&captured);
        self.exchange(call, None, captured, answer)
    }

    async fn grpc(&self, grpc: &GrpcLink, call: Call, first: FirstEvent) -> Exchange {
        let is_legacy = self.version < ProtocolVersion::V1_0;
        let message = match grpc::encode(call.operation, &call.params, is_legacy) {
            Ok(message) => message,
            Err(why) => return self.unsent(call, format!("the request has no gRPC form: {why}")),
        };
        let (headers, timeout) = (self.headers(&call), self.http.timeout());
        let sent = GrpcCall { operation: call.operation, message, is_legacy, headers, timeout };
        let (captured, answer) = grpc.call(sent, first).await;
        self.exchange(call, None, captured, answer)
    }

    fn unsent(&self, call: Call, why: String) -> Exchange {
        self.exchange(call, None, Captured::default(), Answer::Unusable(why))
    }

    fn exchange(
        &self,
        call: Call,
        id: Option<Value>,
        captured: Captured,
        answer: Answer,
    ) -> Exchange {
        let Call { operation, params, .. } = call;
        let Captured { request, response, elapsed, .. } = captured;
        let binding = self.binding;
        Exchange { binding, operation, params, id, request, response, answer, elapsed }
    }

    fn identity(&self, principal: Principal) -> Option<&Identity> {
        match principal {
            Principal::First => Some(&self.first),
            Principal::Second => self.second.as_ref(),
            Principal::Anonymous => None,
        }
    }

    /// The URL of a request.
    fn address(&self, path: &str, principal: Principal) -> String {
        let url = match self.binding {
            Transport::JsonRpc => format!("{}{path}", self.url),
            Transport::Rest | Transport::Grpc => {
                format!("{}{path}", self.url.strip_suffix('/').unwrap_or(&self.url))
            }
        };
        match self.identity(principal) {
            Some(identity) => identity.in_query(url),
            None => url,
        }
    }

    /// The service parameters and credentials of a call.
    fn headers(&self, call: &Call) -> HeaderMap {
        let mut headers = self.identity(call.principal).map(Identity::headers).unwrap_or_default();
        let version = match call.version {
            VersionHeader::Missing => None,
            VersionHeader::Is(version) => Some(version),
            VersionHeader::OfRevision => match self.version {
                ProtocolVersion::V0_1 | ProtocolVersion::V0_2 => None,
                // The examples of the draft print it; `1.0` would ask for the release.
                ProtocolVersion::V1Draft if self.binding == Transport::JsonRpc => Some("0.3"),
                other => Some(other.as_str()),
            },
        };
        if let Some(version) = version {
            headers.insert("a2a-version", HeaderValue::from_static(version));
        }
        let mut uris = match call.lacks_required_extensions {
            true => Vec::new(),
            false => self.required_extensions.clone(),
        };
        uris.extend(call.extensions.iter().cloned());
        if let (false, Ok(value)) = (uris.is_empty(), HeaderValue::try_from(uris.join(", "))) {
            let name = if self.version >= ProtocolVersion::V1Draft {
                HeaderName::from_static("a2a-extensions")
            } else {
                HeaderName::from_static("x-a2a-extensions")
            };
            headers.insert(name, value);
        }
        headers
    }

    fn http_headers(&self, call: &Call, has_body: bool) -> HeaderMap {
        let mut headers = self.headers(call);
        let is_new_rest = self.binding == Transport::Rest && self.version == ProtocolVersion::V1_0;
        let media_type = if is_new_rest { "application/a2a+json" } else { "application/json" };
        if has_body {
            headers.insert("content-type", HeaderValue::from_static(media_type));
        }
        let accept = match (is_streaming(call.operation), is_new_rest) {
            (true, true) => "text/event-stream, application/a2a+json",
            (true, false) => "text/event-stream, application/json",
            (false, true) => "application/a2a+json, application/json",
            (false, false) => "application/json",
        };
        headers.insert("accept", HeaderValue::from_static(accept));
        headers
    }
}
