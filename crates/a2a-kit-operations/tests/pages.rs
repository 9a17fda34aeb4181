//! Pages of tasks within the size that the clients of a binding accept.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::collections::BTreeSet;

use a2a_core::{
    AgentCard, Message, Operation, Request, Result,
    v1::{ListTasksRequest, ListTasksResponse, SendMessageRequest},
};
use a2a_kit_operations::{
    Agent, AgentExecutor, AgentMethod, BoxError, Call, Engine, Reply, RequestContext, TaskUpdater,
    intercept_agent, list_tasks_within,
};
use prost::Message as _;

struct Done;

impl AgentExecutor for Done {
    async fn execute(
        &self,
        _: RequestContext,
        updates: TaskUpdater,
    ) -> std::result::Result<(), BoxError> {
        Ok(updates.complete("done").await?)
    }
}

/// An agent that does not know what its callers accept, as behind a gateway.
struct Remote(Engine);

impl Remote {
    async fn call<R: Request, T>(
        &self,
        _: Operation,
        mut call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        call.context.max_response_bytes = None;
        method(&self.0, call).await
    }
}

impl Agent for Remote {
    intercept_agent!(call);
}

const TASKS: usize = 20;

/// An engine with tasks of 100 KB.
async fn engine() -> Engine {
    let engine = Engine::new(AgentCard::new("Done", "Is done"), Done);
    for _ in 0..TASKS {
        let message = Some(Message::user("x".repeat(100_000)));
        let request = SendMessageRequest { message, ..SendMessageRequest::default() };
        engine.send_message(Call::new(request)).await.expect("a task");
    }
    engine
}

/// All pages, of tasks with their messages.
async fn pages(agent: &dyn Agent, limit: Option<usize>) -> Vec<ListTasksResponse> {
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let mut call = Call::new(ListTasksRequest {
            page_size: Some(100),
            page_token: token,
            history_length: Some(1),
            ..ListTasksRequest::default()
        });
        call.context.max_response_bytes = limit;
        let page = list_tasks_within(agent, call).await.expect("a page").response;
        token = page.next_page_token.clone();
        pages.push(page);
        if token.is_empty() {
            return pages;
        }
    }
}

#[tokio::test]
async fn page_is_within_the_size_that_the_binding_accepts() {
    let engine = engine().await;
    let remote = Remote(engine.clone());
    let agents: [(&str, &dyn Agent); 2] = [("engine", &engine), ("remote agent", &remote)];
    for (name, agent) in agents {
        for (limit, most) in [(None, TASKS), (Some(350_000), 3), (Some(10_000), 1)] {
            let pages = pages(agent, limit).await;
            let ids = pages.iter().flat_map(|page| &page.tasks).map(|task| &task.id);
            assert_eq!(ids.clone().count(), TASKS, "{name}, {limit:?}");
            assert_eq!(ids.collect::<BTreeSet<_>>().len(), TASKS, "{name}, {limit:?}");
            for page in pages {
                assert!(page.tasks.len() <= most, "{name}, {limit:?}: {}", page.tasks.len());
                let is_within = limit.is_none_or(|limit| page.encoded_len() <= limit);
                assert!(is_within || page.tasks.len() == 1, "{name}: {}", page.encoded_len());
                assert_eq!((page.page_size, page.total_size), (100, 20), "{name}, {limit:?}");
            }
        }
    }
}
