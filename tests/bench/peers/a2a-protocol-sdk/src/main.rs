//! An echo agent on `a2a-protocol-sdk`, over JSON-RPC, HTTP+JSON and gRPC.
//!
//! Prints one line of JSON with its addresses, and serves until it is killed.

use std::{
    error::Error,
    future,
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use a2a_protocol_sdk::{
    prelude::{
        A2aResult, ContextId, EventEmitter, Message, Part, RequestContext, RequestHandlerBuilder,
        StreamResponse, Task, TaskState, TaskStatus, agent_executor,
    },
    server::{CombinedDispatcher, GrpcConfig, GrpcDispatcher, Server, TaskStoreConfig},
};
use tokio::net::TcpListener;
use tonic::transport::{self, server::TcpIncoming};

const NAME: &str = "a2a-protocol-sdk";

/// More than any measurement opens; by default the SDK refuses the 1025th stream.
const MOST_STREAMS: usize = 1_000_000;

/// The number after `prefix`.
fn count(text: &str, prefix: &str) -> Option<usize> {
    text.strip_prefix(prefix)?.parse().ok()
}

fn completed(context: &RequestContext, messages: usize) -> Task {
    let context_id = ContextId::new(context.context_id.clone());
    let history = (0..messages).map(|number| {
        let text = format!("message {number:04} of the history");
        let mut message = Message::user_text(format!("message-{number}"), text);
        message.task_id = Some(context.task_id.clone());
        message.context_id = Some(context_id.clone());
        message
    });
    let status = TaskStatus::new(TaskState::Completed);
    let mut task = Task::new(context.task_id.clone(), context_id.clone(), status);
    task.history = Some(history.collect());
    task
}

async fn artifact(
    emitter: &EventEmitter<'_>,
    text: String,
    append: bool,
    last: bool,
) -> A2aResult<()> {
    emitter.artifact("echo", vec![Part::text(text)], Some(append), Some(last)).await
}

struct Agent;

agent_executor!(Agent, |context, queue| async {
    let emitter = EventEmitter::new(context, queue);
    let text = context.message.text().unwrap_or_default();
    if let Some(messages) = count(text, "history:") {
        return queue.write(StreamResponse::Task(completed(context, messages))).await;
    }
    if text == "hold" {
        emitter.status(TaskState::Working).await?;
        context.cancellation_token.cancelled().await;
        return Ok(());
    }
    if let Some(chunks) = count(text, "stream:") {
        emitter.status(TaskState::Working).await?;
        for number in 0..chunks {
            let text = format!("chunk {number:04} of the streamed answer");
            artifact(&emitter, text, number > 0, number + 1 == chunks).await?;
        }
    } else {
        artifact(&emitter, format!("Echo: {text}"), false, true).await?;
    }
    emitter.status(TaskState::Completed).await
});

fn announce(http: SocketAddr, grpc: SocketAddr) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let mut output = io::stdout().lock();
    writeln!(
        output,
        r#"{{"http":"{http}","grpc":"{grpc}","jsonrpc":"/jsonrpc","rest":"","name":"{NAME}","version":"{version}"}}"#
    )?;
    output.flush()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // By default the SDK forgets the oldest of more than 10,000 tasks; the other peers keep all.
    let store = TaskStoreConfig::default().with_max_capacity(None);
    let handler = RequestHandlerBuilder::new(Agent)
        .without_agent_card()
        .with_task_store_config(store)
        .with_max_concurrent_streams(MOST_STREAMS);
    let handler = Arc::new(handler.build()?);
    let http = Server::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let grpc = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    announce(http.local_addr()?, grpc.local_addr()?)?;

    let dispatcher = CombinedDispatcher::new(handler.clone()).with_jsonrpc_path("/jsonrpc")?;
    // The SDK sets TCP_NODELAY for HTTP, but its own gRPC server does not.
    let incoming = TcpIncoming::from(grpc).with_nodelay(Some(true));
    let service = GrpcDispatcher::new(handler, GrpcConfig::default()).into_service();
    let grpc = transport::Server::builder().add_service(service).serve_with_incoming(incoming);
    tokio::select! {
        _ = http.serve_with_shutdown(dispatcher, future::pending()) => {}
        result = grpc => result?,
    }
    Ok(())
}
