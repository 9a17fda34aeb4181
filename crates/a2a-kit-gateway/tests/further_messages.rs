//! Messages of one task through a gateway.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use a2a_core::{
    AgentCard, Message, Role, Task,
    v1::{GetTaskRequest, SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_gateway::Forward;
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater,
};
use axum::Router;
use tokio::task::JoinSet;

/// Waits for another message after each one.
struct Talk;

impl AgentExecutor for Talk {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        Ok(updates.require_input("what else?").await?)
    }
}

async fn serve(servers: &mut JoinSet<()>, router: Router) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    servers.spawn(a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()));
    url
}

fn client(url: &str) -> a2a_kit_jsonrpc::Client {
    a2a_kit_jsonrpc::Client::new(url).unwrap()
}

/// Sends a message with the id of every other one. A gateway that retries adds a key of its own.
async fn send(agent: &impl Agent, task_id: &str, text: &str, key: Option<&str>) -> Task {
    let message = Message { message_id: "m".into(), ..Message::user(text).with_task_id(task_id) };
    let message = Some(message);
    let mut call = Call::new(SendMessageRequest { message, ..SendMessageRequest::default() });
    call.context.idempotency_key = key.map(str::to_owned);
    match agent.send_message(call).await.unwrap().response.payload {
        Some(Payload::Task(task)) => task,
        other => panic!("not a task: {other:?}"),
    }
}

#[tokio::test]
async fn messages_with_one_message_id_are_all_in_the_history() {
    let mut servers = JoinSet::new();
    let engine = Engine::new(AgentCard::new("Talk", "Talks"), Talk);
    let direct_url = serve(&mut servers, a2a_kit_jsonrpc::router(engine)).await;
    let gateway = a2a_kit_jsonrpc::router(Forward::new(client(&direct_url)));
    let gateway_url = serve(&mut servers, gateway).await;
    for url in [&direct_url, &gateway_url] {
        for has_keys in [false, true] {
            let agent = client(url);
            let key = |number: &str| has_keys.then(|| format!("{url} {number}"));
            let task = send(&agent, "", "one", key("1").as_deref()).await;
            for text in ["two", "three", "four"] {
                send(&agent, &task.id, text, key(text).as_deref()).await;
            }
            // A retry with its key is the same message.
            if has_keys {
                send(&agent, &task.id, "four", key("four").as_deref()).await;
            }
            let request = GetTaskRequest { id: task.id, ..GetTaskRequest::default() };
            let task = agent.get_task(Call::new(request)).await.unwrap().response;
            let said = task.history.iter().filter(|message| message.role() == Role::User);
            let said: Vec<_> = said.map(Message::text).collect();
            assert_eq!(said, ["one", "two", "three", "four"], "{url}, keys: {has_keys}");
        }
    }
}
