//! Every operation by the client of the official Rust SDK, against one agent.
//!
//! `client --card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]…`

use std::sync::Arc;

use a2a::{
    A2AError, AgentCard, GetExtendedAgentCardRequest, SVC_PARAM_EXTENSIONS, SVC_PARAM_VERSION,
    StreamResponse, error_reason,
};
use a2a_client::{
    A2AClient, A2AClientFactory, BoxStream, ServiceParams, Transport,
    agent_card::AgentCardResolver, middleware::CallInterceptor,
};
use a2a_grpc::GrpcTransportFactory;
use a2a_pb::protojson_conv;
use async_trait::async_trait;
use futures::StreamExt as _;
use interop_driver::{Answer, Events, Fault, Peer, Result, Session, read, run, write};
use serde_json::Value;

/// The result of a call of the SDK.
type Called<T = ()> = std::result::Result<T, A2AError>;

/// The agent at one binding.
struct LfPeer {
    card: AgentCard,
    binding: String,
    client: A2AClient<Box<dyn Transport>>,
}

impl LfPeer {
    async fn connect(card: AgentCard, binding: &str, session: Session) -> Result<Self> {
        let factory = A2AClientFactory::builder()
            .register(Arc::new(GrpcTransportFactory::new()))
            .preferred_bindings(vec![binding.to_owned()])
            .with_interceptor(Arc::new(Parameters(session)))
            .build();
        let (client, interface) = factory.create_from_card_with_interface(&card).await?;
        if interface.protocol_binding != binding {
            return Err(format!("the SDK chose {}", interface.protocol_binding).into());
        }
        Ok(Self { card, binding: binding.to_owned(), client })
    }
}

/// Sets the service parameters of a session on every request.
struct Parameters(Session);

#[async_trait]
impl CallInterceptor for Parameters {
    async fn before(&self, _method: &str, params: &mut ServiceParams) -> Called {
        let Session { extensions, version } = &self.0;
        if !extensions.is_empty() {
            params.insert(SVC_PARAM_EXTENSIONS.to_owned(), extensions.clone());
        }
        if let Some(version) = version {
            params.insert(SVC_PARAM_VERSION.to_owned(), vec![version.clone()]);
        }
        Ok(())
    }

    async fn after(&self, _method: &str, _result: &Called) -> Called {
        Ok(())
    }
}

fn fault(error: A2AError) -> Fault {
    let reason = error_reason(error.code).to_owned();
    Fault { reason, text: format!("{} ({})", error.message, error.code) }
}

fn answer<T: serde::Serialize>(called: Called<T>) -> Answer {
    write(&called.map_err(fault)?)
}

fn events(called: Called<BoxStream<'static, Called<StreamResponse>>>) -> Answer<Events> {
    Ok(called.map_err(fault)?.map(answer).boxed())
}

#[async_trait]
impl Peer for LfPeer {
    fn card(&self) -> Value {
        write(&self.card).unwrap_or_default()
    }

    async fn with_session(&self, session: Session) -> Result<Box<dyn Peer>> {
        Ok(Box::new(Self::connect(self.card.clone(), &self.binding, session).await?))
    }

    async fn extended_card(&self) -> Answer {
        let request = GetExtendedAgentCardRequest { tenant: None };
        answer(self.client.get_extended_agent_card(&request).await)
    }

    async fn send(&self, request: Value) -> Answer {
        answer(self.client.send_message(&read(request)?).await)
    }

    async fn stream(&self, request: Value) -> Answer<Events> {
        events(self.client.send_streaming_message(&read(request)?).await)
    }

    async fn subscribe(&self, request: Value) -> Answer<Events> {
        events(self.client.subscribe_to_task(&read(request)?).await)
    }

    async fn get(&self, request: Value) -> Answer {
        answer(self.client.get_task(&read(request)?).await)
    }

    async fn list(&self, request: Value) -> Answer {
        answer(self.client.list_tasks(&read(request)?).await)
    }

    async fn cancel(&self, request: Value) -> Answer {
        answer(self.client.cancel_task(&read(request)?).await)
    }

    async fn create_push_config(&self, request: Value) -> Answer {
        answer(self.client.create_push_config(&read(request)?).await)
    }

    async fn get_push_config(&self, request: Value) -> Answer {
        answer(self.client.get_push_config(&read(request)?).await)
    }

    async fn list_push_configs(&self, request: Value) -> Answer {
        answer(self.client.list_push_configs(&read(request)?).await)
    }

    async fn delete_push_config(&self, request: Value) -> Answer<()> {
        self.client.delete_push_config(&read(request)?).await.map_err(fault)
    }

    fn delivery(&self, body: Value) -> Answer {
        write(&protojson_conv::from_value::<StreamResponse>(body).map_err(Fault::other)?)
    }
}

#[tokio::main]
async fn main() -> Result {
    run(async |card: &str, binding: &str| {
        let card = AgentCardResolver::new(None).resolve(card).await?;
        LfPeer::connect(card, binding, Session::default()).await
    })
    .await
}
