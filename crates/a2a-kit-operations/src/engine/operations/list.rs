//! Pages of the tasks in a store.

use a2a_core::{
    Error, Result, TaskState,
    v1::{ListTasksRequest, ListTasksResponse},
};

use super::{bounds::check_time, check::history_length, page};
use crate::{
    Call, Scope,
    store::{PageKey, TaskQuery, TaskStore, TaskView},
};

/// The bytes of a page besides its tasks, at most: the token has the id of a task.
const PAGE_OVERHEAD: usize = 4 << 10;

/// Answers [`list_tasks`](crate::Agent::list_tasks) from a store: the tasks of the caller in the
/// requested tenant, on pages of at most `max_bytes`, as protobuf. For engines, and for gateways
/// that keep an index of tasks.
///
/// # Errors
///
/// `InvalidParams` for a page size, token, history length or time out of range, and errors of the
/// store.
pub async fn list_stored(
    store: &(impl TaskStore + ?Sized),
    call: &Call<ListTasksRequest>,
    max_bytes: usize,
) -> Result<ListTasksResponse> {
    let request = &call.request;
    let scope = Scope::new(&request.tenant, &call.context.caller);
    let history = history_length("historyLength", request.history_length)?.unwrap_or(0);
    let size = page::size(request.page_size)?;
    check_time("statusTimestampAfter", request.status_timestamp_after)?;
    let view = TaskView { history, artifacts: request.include_artifacts() };
    let accepted_bytes =
        call.context.max_response_bytes.map(|max| max.saturating_sub(PAGE_OVERHEAD));
    let query = TaskQuery {
        context_id: Some(request.context_id.clone()).filter(|id| !id.is_empty()),
        state: Some(request.status()).filter(|state| *state != TaskState::Unspecified),
        since: request.status_timestamp_after,
        after: page::key(&request.page_token)?,
        limit: size,
        max_bytes: Some(accepted_bytes.map_or(max_bytes, |max| max.min(max_bytes))),
        view,
    };
    let found = store.list(&scope, &query).await.map_err(Error::from)?;
    let tasks = found.tasks.into_iter().map(|task| view.apply(task)).collect();
    let (tasks, is_cut) = page::within(tasks, accepted_bytes);
    let next_page_token = match tasks.last() {
        Some(last) if found.has_more || is_cut => page::token(&PageKey::of(last)),
        _ => String::new(),
    };
    Ok(ListTasksResponse {
        tasks,
        next_page_token,
        page_size: i32::try_from(size).unwrap_or(i32::MAX),
        total_size: i32::try_from(found.total).unwrap_or(i32::MAX),
    })
}
