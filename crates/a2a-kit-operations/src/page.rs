//! Pages of tasks within the size that the clients of a binding accept.

use a2a_core::{
    Result,
    v1::{ListTasksRequest, ListTasksResponse},
};
use prost::Message as _;

use crate::{Agent, Call, Reply};

/// Lists tasks within [`CallContext::max_response_bytes`](crate::CallContext::max_response_bytes),
/// whatever the agent considers a page: a larger one is asked for again with fewer tasks, down to
/// one. A single task that is larger is returned whole. For bindings.
///
/// # Errors
///
/// Those of the agent.
pub async fn list_tasks_within(
    agent: &dyn Agent,
    mut call: Call<ListTasksRequest>,
) -> Result<Reply<ListTasksResponse>> {
    let Some(limit) = call.context.max_response_bytes else {
        return agent.list_tasks(call).await;
    };
    let mut reply = agent.list_tasks(call.clone()).await?;
    let page_size = reply.response.page_size;
    while reply.response.tasks.len() > 1 && reply.response.encoded_len() > limit {
        let fewer = i32::try_from(reply.response.tasks.len() / 2).unwrap_or(i32::MAX);
        call.request.page_size = Some(fewer);
        reply = agent.list_tasks(call.clone()).await?;
    }
    reply.response.page_size = page_size;
    Ok(reply)
}
