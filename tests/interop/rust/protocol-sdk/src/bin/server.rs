//! An agent on `a2a-protocol-sdk`, over JSON-RPC, HTTP+JSON and gRPC.
//!
//! Prints one line of JSON with the address of its card when it is ready, and exits when standard
//! input closes.

use std::{future, sync::Arc, time::Duration};

use a2a_protocol_sdk::{
    prelude::{
        A2aError, A2aResult, AgentCard, Artifact, ContextId, Message, Part, RequestContext,
        RequestHandlerBuilder, StreamResponse, TaskArtifactUpdateEvent, TaskState, TaskStatus,
        TaskStatusUpdateEvent, agent_executor,
    },
    server::{
        CombinedDispatcher, GrpcConfig, GrpcDispatcher, HttpPushSender, Server,
        TenantAwareInMemoryTaskStore,
    },
};
use interop_driver::{
    Chunk, Result, Step, announce, card, exit_with_parent, extended_card, read, steps, write,
};
use tokio::net::TcpListener;
use tonic::transport::{self, server::TcpIncoming};

struct Agent;

agent_executor!(Agent, |context, queue| async {
    let message = write(&context.message).map_err(|fault| A2aError::internal(fault.text))?;
    // The stored task may be another one, of the same context.
    let is_answer = context.message.task_id.is_some();
    for step in steps(&message, is_answer, context.activated_extensions()) {
        let event = match step {
            Step::Message(text) => StreamResponse::Message(said(context, text)),
            Step::Status(state, text) => status(context, state, text)?,
            Step::Artifact(Chunk { id, text, append, last }) => {
                artifact(context, id, vec![Part::text(text)], append, last)
            }
            Step::Parts => artifact(context, "echo", context.message.parts.clone(), false, true),
            Step::Wait(pause) => {
                if is_canceled_within(context, pause).await {
                    return Ok(());
                }
                continue;
            }
            Step::Crash => return Err(A2aError::internal("the executor crashed on purpose")),
        };
        queue.write(event).await?;
    }
    Ok(())
});

async fn is_canceled_within(context: &RequestContext, pause: Duration) -> bool {
    tokio::time::timeout(pause, context.cancellation_token.cancelled()).await.is_ok()
}

fn said(context: &RequestContext, text: String) -> Message {
    let id = format!("{}-answer", context.message.id.0);
    let mut message = Message::agent(id, vec![Part::text(text)]);
    message.context_id = Some(ContextId::new(context.context_id.clone()));
    message
}

fn status(
    context: &RequestContext,
    state: &str,
    text: Option<String>,
) -> A2aResult<StreamResponse> {
    let state: TaskState = read(format!("TASK_STATE_{state}").into())
        .map_err(|fault| A2aError::internal(fault.text))?;
    let mut status = TaskStatus::with_timestamp(state);
    status.message = text.map(|text| {
        let mut message = said(context, text);
        message.task_id = Some(context.task_id.clone());
        message
    });
    Ok(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: context.task_id.clone(),
        context_id: ContextId::new(context.context_id.clone()),
        status,
        metadata: None,
    }))
}

fn artifact(
    context: &RequestContext,
    id: &str,
    parts: Vec<Part>,
    append: bool,
    last: bool,
) -> StreamResponse {
    let mut artifact = Artifact::new(id, parts);
    artifact.name = Some(id.to_owned());
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: context.task_id.clone(),
        context_id: ContextId::new(context.context_id.clone()),
        artifact,
        append: Some(append),
        last_chunk: Some(last),
        metadata: None,
    })
}

#[tokio::main]
async fn main() -> Result {
    exit_with_parent();
    let http = Server::bind("127.0.0.1:0").await?;
    let grpc = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", http.local_addr()?);
    let jsonrpc = format!("{address}/jsonrpc");
    let name = "Interop agent (a2a-protocol-sdk)";
    let public = card(name, &jsonrpc, &address, &grpc.local_addr()?.to_string());
    let extended: AgentCard = read(extended_card(public.clone()))?;

    let handler = RequestHandlerBuilder::new(Agent)
        .with_agent_card(read(public)?)
        .with_extended_agent_card(extended)
        // The drivers have no credentials.
        .allow_unauthenticated_extended_card()
        .with_task_store(TenantAwareInMemoryTaskStore::new())
        // The webhook of the client is on this host.
        .with_push_sender(HttpPushSender::new().allow_private_urls())
        .build()?;
    let handler = Arc::new(handler);

    let dispatcher = CombinedDispatcher::new(handler.clone()).with_jsonrpc_path("/jsonrpc")?;
    let service = GrpcDispatcher::new(handler, GrpcConfig::default()).into_service();
    let incoming = TcpIncoming::from(grpc);
    let grpc = transport::Server::builder().add_service(service).serve_with_incoming(incoming);
    announce(&address)?;
    tokio::select! {
        _ = http.serve_with_shutdown(dispatcher, future::pending()) => {}
        result = grpc => result?,
    }
    Ok(())
}
