//! Get, list and cancel.

use a2a_core::{TaskState, v1::ListTasksRequest};
use a2a_kit_client::MessageRequest;

use crate::{
    expect::{Result, expect, same, state_is},
    peer::{Peer, ids},
};

pub(crate) async fn get(peer: &Peer) -> Result {
    let sent = peer.task("echo stored").await?;
    let mut got = (*peer.client.get(&sent.id).await?).clone();
    // The response to a send may omit the history.
    if sent.history.is_empty() && !peer.is_older() {
        same(got.history.len(), 1, "messages in the history")?;
        got.history.clear();
    }
    same(&got, &sent, "task")?;
    // The SDKs of 0.3 interpret 0 as all.
    for length in u16::from(peer.is_older())..=1 {
        let got = peer.client.get_with_history(&sent.id, length).await?;
        same(got.history.len(), usize::from(length), "messages in the history")?;
    }
    Ok(())
}

pub(crate) async fn list_pages(peer: &Peer) -> Result {
    let (context_id, mut tasks) = peer.several(5).await?;
    let filter = ListTasksRequest { context_id, page_size: Some(2), ..Default::default() };
    let page = peer.client.list_page(filter.clone()).await?;
    same((page.tasks.len(), page.page_size, page.total_size), (2, 2, 5), "the first page")?;
    expect(!page.next_page_token.is_empty(), "there is a next page")?;
    let listed = peer.client.list(filter).try_collect().await?;
    tasks.reverse();
    same(ids(&listed), ids(&tasks), "tasks, newest first")
}

pub(crate) async fn list_filters(peer: &Peer) -> Result {
    let (context_id, mut tasks) = peer.several(2).await?;
    tasks.reverse();
    let asking = peer.task(MessageRequest::from("ask").in_context(&context_id)).await?;
    let all = ListTasksRequest { context_id, ..Default::default() };

    let completed = ListTasksRequest { status: TaskState::Completed.into(), ..all.clone() };
    let listed = peer.listed(completed.clone()).await?;
    same(ids(&listed), ids(&tasks), "completed tasks")?;
    let without = listed.iter().all(|task| task.artifacts.is_empty());
    expect(without, "artifacts are omitted by default")?;
    let full = ListTasksRequest { include_artifacts: Some(true), ..completed };
    let with = peer.listed(full).await?.iter().all(|task| !task.artifacts.is_empty());
    expect(with, "artifacts are included on request")?;

    let waiting = ListTasksRequest { status: TaskState::InputRequired.into(), ..all.clone() };
    same(ids(&peer.listed(waiting).await?), [asking.id.as_str()], "waiting tasks")?;
    let bare = ListTasksRequest { history_length: Some(0), ..all };
    let bare = peer.listed(bare).await?.iter().all(|task| task.history.is_empty());
    expect(bare, "no history was requested")
}

pub(crate) async fn list_since(peer: &Peer) -> Result {
    let (context_id, _) = peer.several(2).await?;
    let asking = peer.task(MessageRequest::from("ask").in_context(&context_id)).await?;
    let since = asking.status.as_ref().and_then(|status| status.timestamp);
    let filter =
        ListTasksRequest { context_id, status_timestamp_after: since, ..Default::default() };
    same(ids(&peer.listed(filter).await?), [asking.id.as_str()], "tasks since the last")
}

pub(crate) async fn cancel(peer: &Peer) -> Result {
    let started = peer.started("slow 30").await?;
    let canceled = peer.client.cancel(&started.id).await?;
    same(&canceled.id, &started.id, "task id")?;
    state_is(&canceled, TaskState::Canceled)?;
    state_is(&*peer.client.get(&started.id).await?, TaskState::Canceled)
}
