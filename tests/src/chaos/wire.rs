use a2a_core::v1;
use serde_json::{Value, json};

use super::{
    Event, Http, Problem, Sse,
    grpc::{GrpcEvents, GrpcWire},
};

/// Messages of a task that a list includes.
const HISTORY: u32 = 0;

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// HTTP+JSON.
    Rest,
    /// JSON-RPC.
    JsonRpc,
    /// gRPC.
    Grpc,
}

impl Binding {
    /// All bindings.
    pub const ALL: [Self; 3] = [Self::Rest, Self::JsonRpc, Self::Grpc];
}

/// A node and the binding of a call to it.
#[derive(Clone, Copy, Debug)]
pub struct Seat<'a> {
    /// The URL of the node.
    pub node: &'a str,
    /// The binding.
    pub binding: Binding,
}

/// A client of all bindings, independent of this project's client: it sees positions, and answers
/// in the JSON form of HTTP+JSON.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    http: Http,
    grpc: GrpcWire,
}

/// A stream of events.
#[derive(Debug)]
pub struct Events(Inner);

#[derive(Debug)]
enum Inner {
    Rest(Sse),
    JsonRpc(Sse),
    Grpc(Box<GrpcEvents>),
}

impl Wire {
    /// Sends a message with an idempotency key, and returns the response.
    pub async fn send(&self, seat: Seat<'_>, key: &str, body: Value) -> Result<Value, Problem> {
        let headers = [("idempotency-key", key)];
        let node = seat.node;
        match seat.binding {
            Binding::Rest => self.http.post(&format!("{node}/message:send"), &headers, &body).await,
            Binding::JsonRpc => self.call(node, "SendMessage", &headers, body).await,
            Binding::Grpc => {
                let grpc = &self.grpc;
                grpc.call::<v1::SendMessageRequest, v1::SendMessageResponse>(
                    node,
                    "SendMessage",
                    &headers,
                    body,
                )
                .await
            }
        }
    }

    /// Sends a message with an idempotency key, and streams the response.
    pub async fn stream(&self, seat: Seat<'_>, key: &str, body: Value) -> Result<Events, Problem> {
        let headers = [("idempotency-key", key)];
        let path = "/message:stream".to_owned();
        let operation = "SendStreamingMessage";
        self.events::<v1::SendMessageRequest>(seat, operation, path, &headers, body).await
    }

    /// Streams the events of a task after a position, or from the current task.
    pub async fn subscribe(
        &self,
        seat: Seat<'_>,
        task: &str,
        after: Option<u64>,
    ) -> Result<Events, Problem> {
        let after = after.map(|after| after.to_string());
        let headers: Vec<_> = after.iter().map(|after| ("last-event-id", after.as_str())).collect();
        let path = format!("/tasks/{task}:subscribe");
        let body = json!({ "id": task });
        let operation = "SubscribeToTask";
        self.events::<v1::SubscribeToTaskRequest>(seat, operation, path, &headers, body).await
    }

    /// Reads a task.
    pub async fn get(&self, seat: Seat<'_>, task: &str) -> Result<Value, Problem> {
        let (node, body) = (seat.node, json!({ "id": task }));
        match seat.binding {
            Binding::Rest => self.http.get(&format!("{node}/tasks/{task}"), &[]).await,
            Binding::JsonRpc => self.call(node, "GetTask", &[], body).await,
            Binding::Grpc => {
                self.grpc.call::<v1::GetTaskRequest, v1::Task>(node, "GetTask", &[], body).await
            }
        }
    }

    /// Lists the tasks of a context, with their artifacts and without their history.
    pub async fn list(&self, seat: Seat<'_>, context: &str) -> Result<Vec<Value>, Problem> {
        let body = json!({ "contextId": context, "includeArtifacts": true,
            "historyLength": HISTORY });
        let node = seat.node;
        let page = match seat.binding {
            Binding::Rest => {
                let history = HISTORY.to_string();
                let query = [
                    ("contextId", context),
                    ("includeArtifacts", "true"),
                    ("historyLength", &history),
                ];
                self.http.get(&format!("{node}/tasks"), &query).await
            }
            Binding::JsonRpc => self.call(node, "ListTasks", &[], body).await,
            Binding::Grpc => {
                let grpc = &self.grpc;
                grpc.call::<v1::ListTasksRequest, v1::ListTasksResponse>(
                    node,
                    "ListTasks",
                    &[],
                    body,
                )
                .await
            }
        };
        Ok(page?["tasks"].as_array().cloned().unwrap_or_default())
    }

    /// Cancels a task.
    pub async fn cancel(&self, seat: Seat<'_>, task: &str) -> Result<Value, Problem> {
        let (node, body) = (seat.node, json!({ "id": task }));
        match seat.binding {
            Binding::Rest => {
                self.http.post(&format!("{node}/tasks/{task}:cancel"), &[], &json!({})).await
            }
            Binding::JsonRpc => self.call(node, "CancelTask", &[], body).await,
            Binding::Grpc => {
                let grpc = &self.grpc;
                grpc.call::<v1::CancelTaskRequest, v1::Task>(node, "CancelTask", &[], body).await
            }
        }
    }

    async fn events<Q>(
        &self,
        seat: Seat<'_>,
        operation: &'static str,
        path: String,
        headers: &[(&'static str, &str)],
        body: Value,
    ) -> Result<Events, Problem>
    where
        Q: prost::Message + serde::de::DeserializeOwned + 'static,
    {
        let node = seat.node;
        let inner = match seat.binding {
            Binding::Rest => {
                Inner::Rest(self.http.stream(&format!("{node}{path}"), headers, &body).await?)
            }
            Binding::JsonRpc => {
                Inner::JsonRpc(self.http.stream(node, headers, &request(operation, body)).await?)
            }
            Binding::Grpc => {
                let events = self.grpc.stream::<Q>(node, operation, headers, body).await?;
                Inner::Grpc(Box::new(events))
            }
        };
        Ok(Events(inner))
    }

    /// Calls a method of JSON-RPC.
    async fn call(
        &self,
        node: &str,
        method: &'static str,
        headers: &[(&'static str, &str)],
        params: Value,
    ) -> Result<Value, Problem> {
        let mut answer = self.http.post(node, headers, &request(method, params)).await?;
        if answer["error"].is_object() {
            return Err(Problem::from_body(answer));
        }
        Ok(answer["result"].take())
    }
}

impl Events {
    /// The next event; `None` at a regular end of the stream.
    pub async fn next(&mut self) -> Result<Option<Event>, Problem> {
        match &mut self.0 {
            Inner::Rest(events) => events.next().await,
            Inner::JsonRpc(events) => {
                let event = events.next().await?;
                Ok(event.map(|mut event| Event { id: event.id, data: event.data["result"].take() }))
            }
            Inner::Grpc(events) => events.next().await,
        }
    }
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
