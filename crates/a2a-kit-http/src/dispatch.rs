//! Dispatches requests to operations, for the JSON bindings.

use std::{mem::take, sync::Arc};

use a2a_core::{
    Error, Operation, Request, Result, Validate,
    v1::{Task, send_message_response::Payload},
};
use a2a_kit_operations::{Agent, Call, CallContext, EventStream, Reply, trace::ServerSpan};
use serde::{Serialize, de::DeserializeOwned};
use tracing::Instrument as _;

use crate::parse::{MAX_INLINE_BYTES, offload, parse};

/// The encoded request of an operation.
pub trait Source: Default + Send + 'static {
    /// Returns the size of the body that contains the request, in bytes.
    fn bytes(&self) -> usize;

    /// Decodes the request.
    ///
    /// # Errors
    ///
    /// [`ParseError`](a2a_core::ErrorKind::ParseError) and
    /// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams), with the messages of the binding.
    fn read<T: Request + DeserializeOwned>(self) -> Result<T>;
}

/// The output of an operation.
#[derive(Debug)]
pub enum Output {
    /// A JSON value.
    Json(Vec<u8>),
    /// An event stream, which the binding has yet to frame.
    Events(EventStream),
}

/// Decodes and validates a request, calls `operation` with it, and appends a unary response to
/// `out` as JSON. Large requests are processed off the threads that serve connections.
///
/// The call runs in a span named after the operation, and is counted: see [`ServerSpan`]. The context
/// and the source are taken where they are needed: each future that held them would copy them.
///
/// # Errors
///
/// Those of the source, [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for a request that
/// violates the proto's rules, and those of the agent.
pub async fn dispatch(
    agent: &Arc<dyn Agent>,
    binding: &'static str,
    operation: Operation,
    context: &mut CallContext,
    source: &mut impl Source,
    out: Vec<u8>,
) -> Result<Reply<Output>> {
    if source.bytes() > MAX_INLINE_BYTES {
        let (agent, mut context, mut source) = (Arc::clone(agent), take(context), take(source));
        return Box::pin(offload(async move {
            serve(&*agent, binding, operation, &mut context, &mut source, out).await
        }))
        .await?;
    }
    serve(&**agent, binding, operation, context, source, out).await
}

async fn serve(
    agent: &dyn Agent,
    binding: &'static str,
    operation: Operation,
    context: &mut CallContext,
    source: &mut impl Source,
    out: Vec<u8>,
) -> Result<Reply<Output>> {
    // Clients that repeat it on a send would be forwarded with it by a gateway.
    context.last_event_id =
        context.last_event_id.filter(|_| operation == Operation::SubscribeToTask);
    let mut served = ServerSpan::begin(operation, binding, context);
    let performed = perform(agent, &served, operation, context, source, out);
    let result = performed.instrument(served.span().clone()).await;
    served.end(&result);
    let Reply { response, activated } = result?;
    let response = match response {
        Output::Events(events) => Output::Events(served.keep_open(events)),
        json @ Output::Json(_) => json,
    };
    Ok(Reply { response, activated })
}

async fn perform(
    agent: &dyn Agent,
    served: &ServerSpan,
    operation: Operation,
    context: &mut CallContext,
    source: &mut impl Source,
    out: Vec<u8>,
) -> Result<Reply<Output>> {
    let bytes = source.bytes();
    macro_rules! call {
        ($method:ident) => {{
            let source = take(source);
            let request = if bytes <= MAX_INLINE_BYTES {
                read(source)?
            } else {
                Box::pin(parse(bytes, move || read(source))).await?
            };
            served.record_ids(Request::task_id(&request), Request::context_id(&request));
            agent.$method(Call::from_parts(take(context), request)).await?
        }};
    }

    match operation {
        Operation::SendMessage => {
            let reply = call!(send_message);
            if let Some(Payload::Task(task)) = &reply.response.payload {
                served.record_ids(&task.id, &task.context_id);
            }
            json(reply, out)
        }
        Operation::SendStreamingMessage => Ok(call!(send_streaming_message).map(Output::Events)),
        Operation::GetTask => task(call!(get_task), served, out),
        Operation::ListTasks => json(call!(list_tasks), out),
        Operation::CancelTask => task(call!(cancel_task), served, out),
        Operation::SubscribeToTask => Ok(call!(subscribe_to_task).map(Output::Events)),
        Operation::CreateTaskPushNotificationConfig => {
            json(call!(create_task_push_notification_config), out)
        }
        Operation::GetTaskPushNotificationConfig => {
            json(call!(get_task_push_notification_config), out)
        }
        Operation::ListTaskPushNotificationConfigs => {
            json(call!(list_task_push_notification_configs), out)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            // `google.protobuf.Empty` is an empty object in JSON.
            json(call!(delete_task_push_notification_config).map(|()| Empty {}), out)
        }
        Operation::GetExtendedAgentCard => json(call!(get_extended_agent_card), out),
    }
}

#[derive(Serialize)]
struct Empty {}

// Validated before the agent is called: an agent that forwards the request could drop the invalid
// part, for example an unknown enum value.
fn read<T: Request + DeserializeOwned + Validate>(source: impl Source) -> Result<T> {
    let mut read = source.read::<T>();
    if let Ok(request) = &read
        && let Err(error) = request.validate()
    {
        read = Err(error);
    }
    read
}

fn json(reply: Reply<impl Serialize>, mut out: Vec<u8>) -> Result<Reply<Output>> {
    a2a_core::json::write(&mut out, &reply.response).map_err(Error::internal)?;
    Ok(reply.map(|_| Output::Json(out)))
}

fn task(reply: Reply<Arc<Task>>, served: &ServerSpan, out: Vec<u8>) -> Result<Reply<Output>> {
    served.record_ids("", &reply.response.context_id);
    let Reply { response, activated } = reply;
    json(Reply { response: &*response, activated }, out)
}
