//! The operations of an [`Agent`](a2a_kit_operations::Agent), shared by the clients of all bindings.

use a2a_core::{
    Operation, ProtocolVersion, Request, Result,
    v1::{SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_kit_operations::{AgentMethod, Call, EventStream, Reply};
use async_trait::async_trait;

use super::{
    Transport, mismatched_response,
    normalize::{limit_history, requested_history, starting_with_task, without_repeated_status},
    subscribe::subscribe_with_snapshot,
};
use crate::{AnyOutput, AnyRequest};

/// Calls of all operations, for `intercept_agent!`.
#[async_trait]
pub(crate) trait CallAny: Transport {
    /// Calls an operation of an [`Agent`](a2a_kit_operations::Agent). History is truncated to the
    /// requested length.
    async fn call<R: Request, T: Send + 'static>(
        &self,
        operation: Operation,
        call: Call<R>,
        _method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        let request = AnyRequest::of(operation, call.request).ok_or_else(mismatched_response)?;
        let Reply { response, activated } = match request {
            AnyRequest::SendStreamingMessage(request) => {
                let sent = send_streaming(self, Call::from_parts(call.context, request));
                sent.await?.map(AnyOutput::Stream)
            }
            AnyRequest::SubscribeToTask(request) => {
                let subscribed = subscribe(self, Call::from_parts(call.context, request));
                subscribed.await?.map(AnyOutput::Stream)
            }
            request => {
                let limit = requested_history(&request);
                let mut reply = self.unary(call.context, request).await?;
                limit_history(&mut reply.response, limit);
                reply.map(AnyOutput::Unary)
            }
        };
        let response = response.downcast().ok_or_else(mismatched_response)?;
        Ok(Reply { response, activated })
    }
}

impl<T: Transport> CallAny for T {}

/// Sends a message. The stream starts with a task or is a message.
async fn send_streaming(
    transport: &impl Transport,
    call: Call<SendMessageRequest>,
) -> Result<Reply<EventStream>> {
    let resumes = call.context.last_event_id.is_some();
    let request = AnyRequest::SendStreamingMessage(call.request);
    let reply = transport.stream(call.context, request).await?.map(without_repeated_status);
    Ok(if resumes { reply } else { reply.map(starting_with_task) })
}

/// Subscribes to a task: to the events after an event id, or to the task and its events.
async fn subscribe(
    transport: &impl Transport,
    call: Call<SubscribeToTaskRequest>,
) -> Result<Reply<EventStream>> {
    let Call { context, request, .. } = call;
    let resumes = context.last_event_id.is_some();
    if !resumes && transport.revision() < ProtocolVersion::V1Draft {
        let reply = subscribe_with_snapshot(transport.clone(), context, request).await?;
        return Ok(reply.map(without_repeated_status));
    }
    let request = AnyRequest::SubscribeToTask(request);
    let reply = transport.stream(context, request).await?.map(without_repeated_status);
    Ok(if resumes { reply } else { reply.map(starting_with_task) })
}
