//! Clients of tasks that await authorization.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::sync::Arc;

use a2a_core::{AgentCard, ErrorKind, TaskState};
use a2a_kit_client::{Client, MessageRequest, RetryPolicy, Transport};
use a2a_kit_operations::{AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater};
use support::{Proxy, card, serve_engine};
use tokio::sync::Notify;

/// Waits for an out-of-band approval.
struct ApprovalAgent(Arc<Notify>);

impl AgentExecutor for ApprovalAgent {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.require_auth("sign in at https://login.example").await?;
        self.0.notified().await;
        updates.start().await?;
        updates.complete("done").await?;
        Ok(())
    }
}

fn approval_engine() -> (Engine, Arc<Notify>) {
    let approved = Arc::<Notify>::default();
    (Engine::new(AgentCard::new("Approval", "Asks"), ApprovalAgent(approved.clone())), approved)
}

//
#[tokio::test]
async fn dropped_send_stream_resumes_while_task_awaits_authorization() {
    for transport in Transport::ALL {
        let (engine, approved) = approval_engine();
        let proxy = Proxy::start(serve_engine(&engine).await).await;
        let client = Client::builder().build(card(transport, proxy.address)).unwrap();
        let mut events = client.stream("go").await.unwrap();
        while events.next().await.unwrap().unwrap().state() != Some(TaskState::AuthRequired) {}
        assert!(proxy.disconnect() > 0, "{transport}");
        approved.notify_one();
        let mut states = Vec::new();
        while let Some(event) = events.next().await {
            states.extend(event.unwrap().state());
        }
        assert_eq!(states, [TaskState::Working, TaskState::Completed], "{transport}");
    }
}

//
#[tokio::test]
async fn wait_until_subscribes_or_polls() {
    for streaming in [true, false] {
        let (engine, approved) = approval_engine();
        let address = serve_engine(&engine).await;
        let card = card(Transport::Rest, address).with_streaming(streaming);
        let client = Client::builder().retry(RetryPolicy::NEVER).build(card).unwrap();
        let outcome = client.send(MessageRequest::from("go")).await.unwrap();
        assert_eq!(outcome.state(), Some(TaskState::AuthRequired));
        let id = outcome.task_id().unwrap();
        let interrupted = client.wait_until(id, |state| state.is_interrupted()).await.unwrap();
        assert_eq!(interrupted.state(), TaskState::AuthRequired);
        let (task, ()) = tokio::join!(client.wait_while_auth_required(id), async {
            approved.notify_one();
        });
        assert_ne!(task.unwrap().state(), TaskState::AuthRequired, "streaming: {streaming}");
        let done = client.wait_until(id, |_| false).await.unwrap();
        assert_eq!(done.state(), TaskState::Completed, "an ended task is returned at once");
        let again = client.wait_while_auth_required(id).await.unwrap();
        assert_eq!(again.state(), TaskState::Completed);
        let missing = client.wait_until("missing", |_| true).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::TaskNotFound);
    }
}
