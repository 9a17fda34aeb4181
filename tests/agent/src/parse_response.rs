//! `parse_response`: our own client parses a response that is part of the message.

use std::sync::Arc;

use a2a_core::{
    Artifact, Error, ErrorKind, Message, Part,
    v1::{GetExtendedAgentCardRequest, GetTaskRequest, SendMessageRequest},
};
use a2a_kit_client::{ClientSettings, Discovery};
use a2a_kit_operations::{Agent, AgentExecutor, BoxError, Call, RequestContext, TaskUpdater};
use axum::{Router, body::Bytes, response::IntoResponse, routing::any};
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

/// Runs the operation that the second part names against a stand-in for an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParseResponse;

impl AgentExecutor for ParseResponse {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let parts = &context.message().parts;
        let asked = parts.get(1).and_then(Part::as_data).cloned().map(Value::from);
        let Some(asked) = asked else {
            updates.fail("The second part is not data").await?;
            return Ok(());
        };
        let operation = asked["operation"].as_str().unwrap_or_default();
        let read = read(operation, asked["wire_payload"].clone()).await;
        let read = read.unwrap_or_else(|error| {
            json!({"error": {"code": error.kind().codes().jsonrpc, "message": error.message()}})
        });
        updates.artifact(Artifact::new("parsed", Part::from(read))).await?;
        updates.complete(()).await?;
        Ok(())
    }
}

/// Returns what our client makes of an answer.
async fn read(operation: &str, answer: Value) -> Result<Value, Error> {
    let is_envelope = answer.get("jsonrpc").is_some();
    let stand_in = StandIn::start(answer).await?;
    if operation == "get_agent_card" {
        let reference = stand_in.url.parse().map_err(invalid)?;
        let discovery = Discovery::new(ClientSettings::default()).map_err(invalid)?;
        let document = discovery.fetch(&reference).await.map_err(invalid)?;
        return serde_json::to_value(&*document.card).map_err(Error::internal);
    }
    let client = a2a_kit_jsonrpc::Client::new(&stand_in.url)?;
    let value = match operation {
        "send_message" => {
            let message = Some(Message::user("hello"));
            let request = SendMessageRequest { message, ..SendMessageRequest::default() };
            serde_json::to_value(client.send_message(Call::new(request)).await?.response)
        }
        "get_task" => {
            let request = GetTaskRequest { id: "task".into(), ..GetTaskRequest::default() };
            serde_json::to_value(&*client.get_task(Call::new(request)).await?.response)
        }
        "get_extended_agent_card" => {
            let request = GetExtendedAgentCardRequest::default();
            let call = Call::new(request);
            // A bare card is what HTTP+JSON answers with.
            let card = if is_envelope {
                client.get_extended_agent_card(call).await?
            } else {
                a2a_kit_rest::Client::new(&stand_in.url)?.get_extended_agent_card(call).await?
            };
            serde_json::to_value(card.response)
        }
        unknown => {
            let message = format!("unknown operation {unknown:?}");
            return Err(Error::invalid_params("operation", message));
        }
    };
    value.map_err(Error::internal)
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, error.to_string()).with_source(error)
}

/// An agent on this machine that gives the same answer to everything.
struct StandIn {
    url: String,
    server: tokio::task::JoinHandle<()>,
}

impl StandIn {
    async fn start(answer: Value) -> Result<Self, Error> {
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.map_err(Error::internal)?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let answer = Arc::new(answer);
        let respond = async move |request: Bytes| {
            let body = with_id_of(&answer, &request).to_string();
            ([(CONTENT_TYPE, "application/json")], body).into_response()
        };
        let router = Router::new().fallback(any(respond));
        let server = a2a_kit_http::HttpServer::new(router);
        let server = tokio::spawn(server.serve(listener, std::future::pending()));
        Ok(Self { url: format!("http://{address}/"), server })
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// An envelope answers the request that was made, whatever id it was recorded under.
fn with_id_of(answer: &Value, request: &[u8]) -> Value {
    let mut answer = answer.clone();
    let request: Value = serde_json::from_slice(request).unwrap_or_default();
    if let Some(envelope) = answer.as_object_mut()
        && envelope.contains_key("jsonrpc")
    {
        envelope.insert("id".into(), request["id"].clone());
    }
    answer
}
