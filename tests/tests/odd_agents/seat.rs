//! Where an agent is called from: directly, or through a gateway.

use std::sync::Arc;

use a2a_core::{
    Error, Message, Result, Task,
    v1::{GetTaskRequest, SendMessageRequest, stream_response::Payload},
};
use a2a_kit_gateway::{Forward, Isolation};
use a2a_kit_http::HttpServer;
use a2a_kit_operations::{Agent, Call, Event};
use a2a_tests::odd_agent::Wire;
use futures_util::StreamExt as _;

/// A client of an agent at a place.
pub(crate) struct Seat {
    pub(crate) name: String,
    pub(crate) agent: Arc<dyn Agent>,
}

/// The client of the wire itself, and clients of gateways in front of it.
pub(crate) async fn seats(wire: Wire, url: &str) -> Vec<Seat> {
    let name = format!("{wire:?}");
    seats_of(&name, || wire.client(url)).await
}

pub(crate) async fn seats_of(name: &str, client: impl Fn() -> Arc<dyn Agent>) -> Vec<Seat> {
    let json_rpc = gateway(a2a_kit_jsonrpc::router(unowned(client()))).await;
    let grpc = gateway(a2a_kit_grpc::router(unowned(client()))).await;
    let agents: [(&str, Arc<dyn Agent>); 3] = [
        ("direct", client()),
        ("JSON-RPC gateway", Arc::new(a2a_kit_jsonrpc::Client::new(&json_rpc).expect("a client"))),
        ("gRPC gateway", Arc::new(a2a_kit_grpc::Client::connect(&grpc).expect("a client"))),
    ];
    agents.map(|(place, agent)| Seat { name: format!("{name}, {place}"), agent }).into()
}

/// A gateway that forwards every call, also on tasks that it did not begin.
pub(crate) fn unowned<A: Agent>(agent: A) -> Forward<A> {
    Forward::new(agent).with_isolation(Isolation::Shared)
}

pub(crate) async fn gateway(router: axum::Router) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(HttpServer::new(router).serve(listener, std::future::pending()));
    url
}

impl Seat {
    /// Streams a send: a word for each event, and the error last.
    pub(crate) async fn stream(&self) -> Vec<String> {
        let opened = self.agent.send_streaming_message(send()).await;
        let mut events = match opened {
            Ok(reply) => reply.response,
            Err(error) => return vec![failed(&error)],
        };
        let mut words = Vec::new();
        while let Some(item) = events.next().await {
            words.push(item.map_or_else(|error| failed(&error), |event| word(&event)));
        }
        words
    }

    pub(crate) async fn get(&self) -> Result<Arc<Task>> {
        let request = GetTaskRequest { id: "t".into(), ..Default::default() };
        Ok(self.agent.get_task(Call::new(request)).await?.response)
    }
}

pub(crate) fn send() -> Call<SendMessageRequest> {
    Call::new(SendMessageRequest { message: Some(Message::user("hi")), ..Default::default() })
}

/// An error as a word.
pub(crate) fn failed(error: &Error) -> String {
    format!("{:?}: {error}", error.kind())
}

fn word(event: &Event) -> String {
    let state = |state: a2a_core::TaskState| state.as_str_name().replace("TASK_STATE_", "");
    match event.payload() {
        Some(Payload::Task(task)) => format!("task {}", state(task.state())),
        Some(Payload::StatusUpdate(_)) => {
            format!("status {}", state(event.state().unwrap_or_default()))
        }
        Some(Payload::ArtifactUpdate(update)) => {
            let artifact = update.artifact.clone().unwrap_or_default();
            let raw = artifact.parts.first().and_then(|part| part.as_raw()).map(|raw| raw.to_vec());
            match raw {
                Some(raw) => format!("raw {raw:?}"),
                None => format!("text {}", artifact.text()),
            }
        }
        Some(Payload::Message(message)) => {
            let role = message.role().as_str_name().replace("ROLE_", "");
            format!("message {role} {}", message.text())
        }
        None => "nothing".to_owned(),
    }
}
