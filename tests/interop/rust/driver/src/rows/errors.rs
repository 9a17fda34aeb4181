//! Requests that the agent has to reject, and the resulting errors.

use serde_json::json;

use crate::{
    expect::{Result, text_at},
    message::{Ask, fresh_id},
    peer::{Peer, Session, fails_with},
};

const NOT_FOUND: &str = "TASK_NOT_FOUND";
const UNSUPPORTED: &str = "UNSUPPORTED_OPERATION";
const INVALID: &str = "INVALID_PARAMS";

pub(crate) async fn unknown_task(peer: &dyn Peer) -> Result {
    let id = fresh_id();
    let to_it = || Ask::text("hi").to_task(&id);
    fails_with(NOT_FOUND, peer.stored(&id).await)?;
    fails_with(NOT_FOUND, peer.cancel(json!({ "id": id })).await)?;
    fails_with(NOT_FOUND, peer.send(to_it().into()).await)?;
    fails_with(NOT_FOUND, peer.subscribed(&id).await)?;
    fails_with(NOT_FOUND, peer.streamed(to_it()).await)
}

pub(crate) async fn cancel_terminal(peer: &dyn Peer) -> Result {
    let task = peer.task("echo hello").await?;
    fails_with("TASK_NOT_CANCELABLE", peer.cancel(json!({ "id": task["id"] })).await)
}

pub(crate) async fn subscribe_terminal(peer: &dyn Peer) -> Result {
    let task = peer.task("echo hello").await?;
    fails_with(UNSUPPORTED, peer.subscribed(text_at(&task, "/id")).await)
}

pub(crate) async fn send_terminal(peer: &dyn Peer) -> Result {
    let task = peer.task("echo hello").await?;
    let again = || Ask::answer(&task, "again");
    fails_with(UNSUPPORTED, peer.send(again().into()).await)?;
    fails_with(UNSUPPORTED, peer.streamed(again()).await)
}

pub(crate) async fn context(peer: &dyn Peer) -> Result {
    let task = peer.task("ask").await?;
    let elsewhere = Ask::answer(&task, "Ada").in_context(&fresh_id());
    fails_with(INVALID, peer.send(elsewhere.into()).await)
}

pub(crate) async fn page_size(peer: &dyn Peer) -> Result {
    for size in [0, 101] {
        fails_with(INVALID, peer.list(json!({ "pageSize": size })).await)?;
    }
    Ok(())
}

pub(crate) async fn empty_message(peer: &dyn Peer) -> Result {
    fails_with(INVALID, peer.send_unchecked(Ask::parts(&json!([])).into()).await)
}

pub(crate) async fn push_config(peer: &dyn Peer) -> Result {
    let task = peer.task("ask").await?;
    let unknown = json!({"taskId": task["id"], "id": "unknown"});
    fails_with(NOT_FOUND, peer.get_push_config(unknown).await)
}

pub(crate) async fn version(peer: &dyn Peer) -> Result {
    let session = Session { version: Some("9.9".to_owned()), ..Session::default() };
    let peer = peer.with_session(session).await?;
    fails_with("VERSION_NOT_SUPPORTED", peer.list(json!({})).await)
}
