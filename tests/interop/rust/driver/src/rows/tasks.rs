//! Get, list and cancel.

use serde_json::{Value, json};

use crate::{
    expect::{Result, expect, ids, list_at, number_at, same, same_json, state_is, text_at},
    message::Ask,
    peer::Peer,
};

pub(crate) async fn get(peer: &dyn Peer) -> Result {
    let sent = peer.task("echo stored").await?;
    let got = peer.stored(text_at(&sent, "/id")).await?;
    same_json(&got, &sent, "task")?;
    for length in [0, 1] {
        let got = peer.get(json!({"id": sent["id"], "historyLength": length})).await?;
        same(list_at(&got, "/history").len(), length, "messages in the history")?;
    }
    Ok(())
}

pub(crate) async fn list_pages(peer: &dyn Peer) -> Result {
    let (context_id, mut expected) = peer.several(5).await?;
    expected.reverse();
    let mut request = json!({"contextId": context_id, "pageSize": 2});
    let (mut seen, mut sizes) = (Vec::new(), Vec::new());
    for _page in 0..3 {
        let page = peer.list(request.clone()).await?;
        same(number_at(&page, "/totalSize"), 5, "total size")?;
        same(number_at(&page, "/pageSize"), 2, "page size")?;
        let tasks = list_at(&page, "/tasks");
        seen.extend(ids(tasks).into_iter().map(str::to_owned));
        sizes.push(tasks.len());
        request["pageToken"] = text_at(&page, "/nextPageToken").into();
    }
    same(sizes, [2, 2, 1], "sizes of the pages")?;
    same(text_at(&request, "/pageToken"), "", "token after the last page")?;
    same(seen, expected, "tasks, newest first")
}

pub(crate) async fn list_filters(peer: &dyn Peer) -> Result {
    let (context_id, mut expected) = peer.several(2).await?;
    expected.reverse();
    let asking = peer.task(Ask::text("ask").in_context(&context_id)).await?;
    let listed = async |mut request: Value| -> Result<Vec<Value>> {
        request["contextId"] = context_id.as_str().into();
        Ok(list_at(&peer.list(request).await?, "/tasks").to_vec())
    };

    let completed = listed(json!({"status": "TASK_STATE_COMPLETED"})).await?;
    same(ids(&completed), &*expected, "completed tasks")?;
    let without = completed.iter().all(|task| list_at(task, "/artifacts").is_empty());
    expect(without, "artifacts came without being asked for")?;
    let request = json!({"status": "TASK_STATE_COMPLETED", "includeArtifacts": true});
    let full = listed(request).await?;
    same(ids(&full), &*expected, "completed tasks with artifacts")?;
    let with = full.iter().all(|task| !list_at(task, "/artifacts").is_empty());
    expect(with, "artifacts are missing")?;

    let waiting = listed(json!({"status": "TASK_STATE_INPUT_REQUIRED"})).await?;
    same(ids(&waiting), [text_at(&asking, "/id")], "waiting tasks")?;
    let bare = listed(json!({"historyLength": 0})).await?;
    same(bare.len(), 3, "tasks of the context")?;
    let bare = bare.iter().all(|task| list_at(task, "/history").is_empty());
    expect(bare, "a history came without being asked for")
}

pub(crate) async fn list_since(peer: &dyn Peer) -> Result {
    let (context_id, _) = peer.several(2).await?;
    let asking = peer.task(Ask::text("ask").in_context(&context_id)).await?;
    let since = text_at(&asking, "/status/timestamp");
    let request = json!({"contextId": context_id, "statusTimestampAfter": since});
    let listed = peer.list(request).await?;
    same(ids(list_at(&listed, "/tasks")), [text_at(&asking, "/id")], "tasks since the last")
}

pub(crate) async fn cancel(peer: &dyn Peer) -> Result {
    let task = peer.started("slow 30").await?;
    let canceled = peer.cancel(json!({ "id": task["id"] })).await?;
    same(text_at(&canceled, "/id"), text_at(&task, "/id"), "task id")?;
    state_is(&canceled, "CANCELED")?;
    state_is(&peer.stored(text_at(&task, "/id")).await?, "CANCELED")
}
