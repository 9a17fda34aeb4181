//! Listing tasks: filters, pages and their limits.

use serde_json::{Value, json};

use crate::{
    exchange::text,
    recorder::{Learned, Recorder, merge},
    step::Step,
    wire::Call,
};

/// The most pages that are read.
const MAX_PAGES: usize = 8;

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &Learned) {
    let list = |members: Value| Call::new("ListTasks", members);
    recorder.step(Step::List, list(json!({}))).await;
    recorder.step(Step::ListPageZero, list(json!({ "pageSize": 0 }))).await;
    recorder.step(Step::ListPageTooLarge, list(json!({ "pageSize": 101 }))).await;
    let future = json!({ "statusTimestampAfter": "2999-01-01T00:00:00Z" });
    recorder.step(Step::ListFuture, list(future)).await;
    let Some(context) = &learned.context else {
        let steps = [
            Step::ListContext,
            Step::ListPage,
            Step::ListArtifacts,
            Step::ListHistoryZero,
            Step::ListStatus,
            Step::ListOtherStatus,
            Step::ListSince,
        ];
        let reason = "the agent answered without tasks, so there is no context to list";
        return recorder.missing(&steps, reason);
    };
    let of_context = |members: Value| {
        let mut params = json!({ "contextId": context });
        merge(&mut params, members);
        list(params)
    };
    let all = recorder.step(Step::ListContext, of_context(json!({}))).await;
    pages(recorder, context).await;
    let artifacts = of_context(json!({ "includeArtifacts": true }));
    recorder.step(Step::ListArtifacts, artifacts).await;
    recorder.step(Step::ListHistoryZero, of_context(json!({ "historyLength": 0 }))).await;
    let first = all.as_ref().and_then(|all| all.result()?.get("tasks")?.get(0).cloned());
    let Some(first) = first else {
        let steps = [Step::ListStatus, Step::ListOtherStatus, Step::ListSince];
        return recorder.missing(&steps, "the list of the context has no tasks");
    };
    let state = crate::exchange::state(&first);
    recorder.step(Step::ListStatus, of_context(json!({ "status": state }))).await;
    let other =
        if state == "TASK_STATE_REJECTED" { "TASK_STATE_WORKING" } else { "TASK_STATE_REJECTED" };
    recorder.step(Step::ListOtherStatus, of_context(json!({ "status": other }))).await;
    let timestamp = first.get("status").map(|status| text(status, "timestamp")).unwrap_or_default();
    let since = of_context(json!({ "statusTimestampAfter": timestamp }));
    let since = Some(since).filter(|_| !timestamp.is_empty());
    let reason = "the newest task of the list has no timestamp";
    recorder.step_if(Step::ListSince, since, reason).await;
}

/// Reads the context page by page.
async fn pages(recorder: &mut Recorder<'_>, context: &str) {
    let mut token = String::new();
    for _ in 0..MAX_PAGES {
        let mut params = json!({ "contextId": context, "pageSize": 1 });
        if !token.is_empty() {
            merge(&mut params, json!({ "pageToken": token }));
        }
        let page = recorder.step(Step::ListPage, Call::new("ListTasks", params)).await;
        let next =
            page.as_ref().and_then(|page| page.result()).map(|page| text(page, "nextPageToken"));
        match next {
            Some(next) if !next.is_empty() => next.clone_into(&mut token),
            _ => return,
        }
    }
}
