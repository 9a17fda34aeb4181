//! Every operation by the client of `a2a-protocol-sdk`, against one agent.
//!
//! `client --card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]…`

mod proxy;

use std::collections::HashMap;

use a2a_protocol_sdk::{
    client::{
        A2aClient, CallInterceptor, ClientBuilder, ClientError, ClientRequest, ClientResponse,
        ClientResult, EventStream, GrpcTransport, JsonRpcTransport, RestTransport, Transport,
        resolve_agent_card,
    },
    types::{AgentCard, AgentInterface, ErrorCode, StreamResponse},
};
use async_trait::async_trait;
use futures::stream::{self, StreamExt as _};
use interop_driver::{Answer, Events, Fault, Peer, Result, Session, read, run, write};
use serde_json::Value;

use self::proxy::VersionProxy;

/// The agent at one binding.
struct SdkPeer {
    card: AgentCard,
    interface: AgentInterface,
    client: A2aClient,
    /// Replaces the version of the client's requests.
    _proxy: Option<VersionProxy>,
}

impl SdkPeer {
    async fn connect(card: AgentCard, binding: &str, session: Session) -> Result<Self> {
        let builder = ClientBuilder::from_card_preferring(&card, &[binding.to_owned()])?;
        let chosen = builder.chosen_interface().filter(|one| one.protocol_binding == binding);
        let interface = chosen.ok_or_else(|| format!("the SDK did not choose {binding}"))?.clone();
        if binding == "GRPC" {
            let mut builder = builder.with_extensions(session.extensions);
            if let Some(version) = session.version {
                builder = builder.with_interceptor(Version(version));
            }
            let client = builder.build_grpc().await?;
            return Ok(Self { card, interface, client, _proxy: None });
        }
        // Over HTTP an interceptor can only add a second header to that of the client.
        let Some(version) = session.version else {
            let client = builder.with_extensions(session.extensions).build()?;
            return Ok(Self { card, interface, client, _proxy: None });
        };
        let proxy = VersionProxy::to(&interface.url, &version).await?;
        let client = ClientBuilder::new(&*proxy.url).with_protocol_binding(binding).build()?;
        Ok(Self { card, interface, client, _proxy: Some(proxy) })
    }

    /// What is below the client.
    async fn transport(&self) -> ClientResult<Box<dyn Transport>> {
        let url = &*self.interface.url;
        Ok(match &*self.interface.protocol_binding {
            "GRPC" => Box::new(GrpcTransport::connect(format!("http://{url}")).await?),
            "HTTP+JSON" => Box::new(RestTransport::new(url)?),
            _ => Box::new(JsonRpcTransport::new(url)?),
        })
    }
}

/// Replaces the version in the metadata of gRPC.
struct Version(String);

impl CallInterceptor for Version {
    async fn before<'a>(&'a self, request: &'a mut ClientRequest) -> ClientResult<()> {
        request.extra_headers.insert("a2a-version".to_owned(), self.0.clone());
        Ok(())
    }

    async fn after<'a>(&'a self, _response: &'a ClientResponse) -> ClientResult<()> {
        Ok(())
    }
}

fn fault(error: ClientError) -> Fault {
    let reason = match &error {
        ClientError::Protocol(error) => match error.code {
            ErrorCode::InvalidParams => "INVALID_PARAMS",
            code => code.a2a_reason().unwrap_or_default(),
        },
        _ => "",
    };
    Fault { reason: reason.to_owned(), text: error.to_string() }
}

fn answer<T: serde::Serialize>(called: ClientResult<T>) -> Answer {
    write(&called.map_err(fault)?)
}

fn events(called: ClientResult<EventStream>) -> Answer<Events> {
    let next = async |mut events: EventStream| {
        let event = events.next().await?;
        Some((answer(event), events))
    };
    Ok(stream::unfold(called.map_err(fault)?, next).boxed())
}

/// The text at a member of a request.
fn member(request: &Value, name: &str) -> String {
    request[name].as_str().unwrap_or_default().to_owned()
}

#[async_trait]
impl Peer for SdkPeer {
    fn card(&self) -> Value {
        write(&self.card).unwrap_or_default()
    }

    async fn with_session(&self, session: Session) -> Result<Box<dyn Peer>> {
        let binding = &self.interface.protocol_binding;
        Ok(Box::new(Self::connect(self.card.clone(), binding, session).await?))
    }

    async fn extended_card(&self) -> Answer {
        answer(self.client.get_extended_agent_card().await)
    }

    async fn send(&self, request: Value) -> Answer {
        answer(self.client.send_message(read(request)?).await)
    }

    async fn send_unchecked(&self, request: Value) -> Answer {
        let transport = self.transport().await.map_err(fault)?;
        answer(transport.send_request("SendMessage", request, &HashMap::new()).await)
    }

    async fn stream(&self, request: Value) -> Answer<Events> {
        events(self.client.stream_message(read(request)?).await)
    }

    async fn subscribe(&self, request: Value) -> Answer<Events> {
        events(self.client.subscribe_to_task(member(&request, "id")).await)
    }

    async fn get(&self, request: Value) -> Answer {
        answer(self.client.get_task(read(request)?).await)
    }

    async fn list(&self, request: Value) -> Answer {
        answer(self.client.list_tasks(read(request)?).await)
    }

    async fn cancel(&self, request: Value) -> Answer {
        answer(self.client.cancel_task(member(&request, "id")).await)
    }

    async fn create_push_config(&self, request: Value) -> Answer {
        answer(self.client.set_push_config(read(request)?).await)
    }

    async fn get_push_config(&self, request: Value) -> Answer {
        let (task_id, id) = (member(&request, "taskId"), member(&request, "id"));
        answer(self.client.get_push_config(task_id, id).await)
    }

    async fn list_push_configs(&self, request: Value) -> Answer {
        answer(self.client.list_push_configs(read(request)?).await)
    }

    async fn delete_push_config(&self, request: Value) -> Answer<()> {
        let (task_id, id) = (member(&request, "taskId"), member(&request, "id"));
        self.client.delete_push_config(task_id, id).await.map_err(fault)
    }

    fn delivery(&self, body: Value) -> Answer {
        write(&read::<StreamResponse>(body)?)
    }
}

#[tokio::main]
async fn main() -> Result {
    run(async |card: &str, binding: &str| {
        SdkPeer::connect(resolve_agent_card(card).await?, binding, Session::default()).await
    })
    .await
}
