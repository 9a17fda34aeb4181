use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use a2a_core::v1;
use http::uri::PathAndQuery;
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::timeout;
use tonic::{
    Code, Request, Response, Status, Streaming,
    client::Grpc,
    metadata::MetadataValue,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use super::{
    Event, Problem,
    http::{ANSWER, CONNECT, SILENCE, timed_out},
};

/// A plain gRPC client with one connection per node.
#[derive(Clone, Debug, Default)]
pub(super) struct GrpcWire {
    channels: Arc<Mutex<HashMap<String, Channel>>>,
}

/// A stream of events over gRPC.
#[derive(Debug)]
pub(super) struct GrpcEvents {
    events: Streaming<v1::StreamResponse>,
    /// The position of the next event.
    position: u64,
}

impl GrpcWire {
    /// Calls an operation with a request in ProtoJSON, and returns the response in ProtoJSON.
    pub(super) async fn call<Q, A>(
        &self,
        node: &str,
        operation: &'static str,
        metadata: &[(&'static str, &str)],
        request: Value,
    ) -> Result<Value, Problem>
    where
        Q: Message + DeserializeOwned + 'static,
        A: Message + Default + Serialize + 'static,
    {
        let mut client = self.client(node).await?;
        let codec: ProstCodec<Q, A> = ProstCodec::default();
        let call = client.unary(with::<Q>(metadata, request), path(operation), codec);
        let answer = timeout(ANSWER, call).await.map_err(timed_out)?.map_err(problem)?;
        Ok(serde_json::to_value(answer.into_inner()).expect("a message has a JSON form"))
    }

    /// Calls an operation that streams its response.
    pub(super) async fn stream<Q>(
        &self,
        node: &str,
        operation: &'static str,
        metadata: &[(&'static str, &str)],
        request: Value,
    ) -> Result<GrpcEvents, Problem>
    where
        Q: Message + DeserializeOwned + 'static,
    {
        let mut client = self.client(node).await?;
        let codec: ProstCodec<Q, v1::StreamResponse> = ProstCodec::default();
        let call = client.server_streaming(with::<Q>(metadata, request), path(operation), codec);
        let answer: Response<Streaming<_>> =
            timeout(ANSWER, call).await.map_err(timed_out)?.map_err(problem)?;
        let position = answer.metadata().get("event-position");
        let position = position.and_then(|value| value.to_str().ok()?.parse().ok());
        // A stream that opens before the turn of its message has no positions: a retry has.
        let none = || Problem::Unreachable("the stream has no positions".into());
        Ok(GrpcEvents { events: answer.into_inner(), position: position.ok_or_else(none)? })
    }

    async fn client(&self, node: &str) -> Result<Grpc<Channel>, Problem> {
        let channel = {
            let mut channels = self.channels.lock().expect("no panic while locked");
            let connect = || {
                let endpoint = Endpoint::from_shared(node.to_owned()).expect("a valid address");
                endpoint.connect_timeout(CONNECT).connect_lazy()
            };
            channels.entry(node.to_owned()).or_insert_with(connect).clone()
        };
        let mut client = Grpc::new(channel);
        let ready = timeout(ANSWER, client.ready()).await.map_err(timed_out)?;
        ready.map_err(|error| Problem::Unreachable(error.to_string()))?;
        Ok(client)
    }
}

impl GrpcEvents {
    /// The next event; `None` at a regular end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Problem> {
        let next = timeout(SILENCE, self.events.message()).await.map_err(timed_out)?;
        let Some(message) = next.map_err(problem)? else { return Ok(None) };
        let data = serde_json::to_value(message).expect("a message has a JSON form");
        let id = self.position;
        self.position += 1;
        Ok(Some(Event { id, data }))
    }
}

fn path(operation: &'static str) -> PathAndQuery {
    let path = format!("/lf.a2a.v1.A2AService/{operation}");
    PathAndQuery::try_from(path).expect("names of operations are paths")
}

fn with<Q: DeserializeOwned>(metadata: &[(&'static str, &str)], request: Value) -> Request<Q> {
    let mut request = Request::new(serde_json::from_value(request).expect("a valid request"));
    let version = [("a2a-version", "1.0")];
    for (name, value) in metadata.iter().chain(&version) {
        let value = MetadataValue::try_from(*value).expect("printable ASCII");
        request.metadata_mut().insert(*name, value);
    }
    request
}

/// A status as the HTTP status of the same error.
fn problem(status: Status) -> Problem {
    let code = match status.code() {
        Code::NotFound => 404,
        Code::ResourceExhausted => 429,
        Code::Internal => 500,
        Code::Unavailable => 503,
        Code::DeadlineExceeded => 504,
        // Of the connection, not of the server.
        Code::Unknown | Code::Cancelled => return Problem::Unreachable(status.to_string()),
        _ => 400,
    };
    // The reason is in the details, as text between bytes.
    let details = String::from_utf8_lossy(status.details());
    Problem::Rejected(code, json!({ "message": status.message(), "details": details }))
}
