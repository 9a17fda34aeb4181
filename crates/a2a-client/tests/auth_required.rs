//! Clients of tasks that wait for an authorization.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::sync::Arc;

use a2a_client::{Client, Outgoing, RetryPolicy, Transport};
use a2a_core::{AgentCard, ErrorKind, TaskState};
use a2a_operations::{AgentError, AgentExecutor, Engine, RequestContext, TaskUpdater};
use support::{Proxy, card, serve_engine};
use tokio::sync::Notify;

/// Waits for an approval, out of band.
struct Careful(Arc<Notify>);

impl AgentExecutor for Careful {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), AgentError> {
        updates.require_auth("sign in at https://login.example").await?;
        self.0.notified().await;
        updates.start().await?;
        updates.complete("done").await?;
        Ok(())
    }
}

fn careful() -> (Engine, Arc<Notify>) {
    let approved = Arc::<Notify>::default();
    (Engine::new(AgentCard::new("Careful", "Asks"), Careful(approved.clone())), approved)
}

//
#[tokio::test]
async fn the_stream_of_a_send_that_is_cut_while_it_waits_goes_on() {
    for transport in Transport::ALL {
        let (engine, approved) = careful();
        let proxy = Proxy::start(serve_engine(&engine).await).await;
        let client = Client::builder().build(card(transport, proxy.address)).unwrap();
        let mut events = client.stream("go").await.unwrap();
        while events.next().await.unwrap().unwrap().state() != Some(TaskState::AuthRequired) {}
        assert!(proxy.cut() > 0, "{transport}");
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
async fn a_task_is_awaited_by_its_events_and_without_them_by_looking() {
    for streaming in [true, false] {
        let (engine, approved) = careful();
        let address = serve_engine(&engine).await;
        let card = card(Transport::HttpJson, address).with_streaming(streaming);
        let client = Client::builder().retry(RetryPolicy::NEVER).build(card).unwrap();
        let outcome = client.send(Outgoing::from("go")).await.unwrap();
        assert_eq!(outcome.state(), Some(TaskState::AuthRequired));
        let id = outcome.task_id().unwrap();
        let asked = client.wait_until(id, |state| state.is_interrupted()).await.unwrap();
        assert_eq!(asked.state(), TaskState::AuthRequired);
        let (task, ()) = tokio::join!(client.wait_while_auth_required(id), async {
            approved.notify_one();
        });
        assert_ne!(task.unwrap().state(), TaskState::AuthRequired, "streaming: {streaming}");
        let done = client.wait_until(id, |_| false).await.unwrap();
        assert_eq!(done.state(), TaskState::Completed, "what has ended is not awaited");
        let again = client.wait_while_auth_required(id).await.unwrap();
        assert_eq!(again.state(), TaskState::Completed);
        let missing = client.wait_until("nobody", |_| true).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::TaskNotFound);
    }
}
