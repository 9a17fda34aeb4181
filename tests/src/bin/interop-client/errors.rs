//! Requests that an agent has to reject, and the resulting errors.

use a2a_core::{
    ErrorKind, Message, Role, card, fresh_id,
    v1::{ListTasksRequest, SendMessageRequest},
};
use a2a_kit_client::{Client, MessageRequest};
use a2a_kit_operations::{Agent as _, Call};
use http::HeaderValue;
use tonic::transport::Endpoint;
use tower::ServiceExt as _;

use crate::{
    expect::{Result, expect, fails_with},
    peer::{Peer, answer, drain},
    proxy::{Proxy, Trouble},
};

pub(crate) async fn unknown_task(peer: &Peer) -> Result {
    let missing = ErrorKind::TaskNotFound;
    let id = fresh_id();
    let to_it = || MessageRequest::from("hi").to_task(&id);
    fails_with(missing, peer.client.get(&id).await)?;
    fails_with(missing, peer.client.cancel(&id).await)?;
    fails_with(missing, peer.client.send(to_it()).await)?;
    fails_with(missing, peer.client.subscribe(&id).await)?;
    fails_with(missing, peer.client.stream(to_it()).await).map(drop)
}

pub(crate) async fn cancel_terminal(peer: &Peer) -> Result {
    let task = peer.task("echo hello").await?;
    fails_with(ErrorKind::TaskNotCancelable, peer.client.cancel(&task.id).await).map(drop)
}

pub(crate) async fn subscribe_terminal(peer: &Peer) -> Result {
    let task = peer.task("echo hello").await?;
    fails_with(ErrorKind::UnsupportedOperation, peer.client.subscribe(&task.id).await).map(drop)
}

pub(crate) async fn send_terminal(peer: &Peer) -> Result {
    let task = peer.task("echo hello").await?;
    let again = || answer(&task, "again");
    if peer.is_older() {
        // Not specified; SDKs differ.
        let kind = peer.client.send(again()).await.map_err(|error| error.kind()).err();
        let rejected = matches!(
            kind,
            Some(
                ErrorKind::InvalidParams
                    | ErrorKind::InvalidRequest
                    | ErrorKind::UnsupportedOperation
            )
        );
        return expect(rejected, format!("expected an error, got {kind:?}"));
    }
    fails_with(ErrorKind::UnsupportedOperation, peer.client.send(again()).await)?;
    // Rejected before the stream opens, or by its first item.
    let streamed = match peer.client.stream(again()).await {
        Ok(events) => drain(events).await,
        Err(error) => Err(error),
    };
    fails_with(ErrorKind::UnsupportedOperation, streamed).map(drop)
}

pub(crate) async fn context(peer: &Peer) -> Result {
    let task = peer.task("ask").await?;
    let elsewhere = answer(&task, "Ada").with_context_id(fresh_id());
    fails_with(ErrorKind::InvalidParams, peer.client.send(elsewhere).await).map(drop)
}

pub(crate) async fn page_size(peer: &Peer) -> Result {
    for size in [0, 101] {
        let request = ListTasksRequest { page_size: Some(size), ..Default::default() };
        fails_with(ErrorKind::InvalidParams, peer.client.list_page(request).await)?;
    }
    Ok(())
}

pub(crate) async fn empty_message(peer: &Peer) -> Result {
    let message = Message::new(Role::User, Vec::new());
    let request = SendMessageRequest { message: Some(message), ..Default::default() };
    // Bypasses the client's own validation.
    let call = peer.client.call(request);
    fails_with(ErrorKind::InvalidParams, peer.client.agent().send_message(call).await).map(drop)
}

pub(crate) async fn push_config(peer: &Peer) -> Result {
    let task = peer.task("ask").await?;
    let called = peer.client.push_config(&task.id, "unknown").await;
    fails_with(ErrorKind::TaskNotFound, called).map(drop)
}

/// Our client always sends its own version, so a proxy replaces it.
pub(crate) async fn version(peer: &Peer) -> Result {
    let interface = peer.client.interface().ok_or("no interface was chosen")?;
    let request = ListTasksRequest::default();
    let called = if interface.protocol_binding == card::GRPC {
        let channel = Endpoint::from_shared(format!("http://{}", interface.url))?.connect_lazy();
        let channel = channel.map_request(|mut request: http::Request<tonic::body::Body>| {
            request.headers_mut().insert("a2a-version", HeaderValue::from_static("9.9"));
            request
        });
        let client =
            a2a_kit_grpc::Client::with_channel(channel, a2a_kit_grpc::ClientSettings::default());
        client.list_tasks(Call::new(request)).await.map(|reply| reply.response)
    } else {
        let proxy = Proxy::to(interface, Trouble::Version).await?;
        let client = Client::builder().build(proxy.card(&peer.card, interface))?;
        client.list_page(request).await
    };
    fails_with(ErrorKind::VersionNotSupported, called).map(drop)
}
