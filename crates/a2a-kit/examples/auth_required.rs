//! cargo run -p a2a-kit --features testing --example auth_required
//!
//! A chain of agents in which the last one needs the user's authorization. The calendar requests it
//! out of band: its task is AUTH_REQUIRED until the user approves on its page. The assistant in
//! between cannot approve; it sets AUTH_REQUIRED on its own task, and continues when the calendar
//! does.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::{collections::HashMap, sync::Arc, sync::Mutex};

use a2a_kit::{
    AgentCard, AgentExecutor, BoxError, Client, Engine, MessageRequest, RequestContext,
    SendOutcome, TaskState, TaskUpdater,
    http::client::{ClientSettings, HttpClient},
    testing::TestServer,
};
use axum::{Router, extract::Path, routing::post};
use http::StatusCode;
use tokio::sync::oneshot;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Tasks that wait for an approval. An approval is valid for one task.
type Approvals = Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>;

/// Returns today's events, with the user's approval only.
struct Calendar {
    page: String,
    approvals: Approvals,
}

impl AgentExecutor for Calendar {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let (approve, approved) = oneshot::channel();
        let task_id = updates.task_id().to_owned();
        lock(&self.approvals).insert(task_id.clone(), approve);
        let page = format!("{}/approve/{task_id}", self.page);
        updates.require_auth(format!("May I read today's events once? Approve at {page}")).await?;
        // Only the page approves; a state change or a message does not.
        approved.await?;
        updates.start().await?;
        updates.complete("10:00 stand-up, 15:00 dentist").await?;
        Ok(())
    }
}

/// The page on which a user approves. A real one authenticates the user and uses HTTPS.
fn page(approvals: Approvals) -> Router {
    let approve = async move |Path(task_id): Path<String>| {
        let waiting = lock(&approvals).remove(&task_id);
        match waiting.map(|waiting| waiting.send(())) {
            Some(Ok(())) => StatusCode::NO_CONTENT,
            _ => StatusCode::NOT_FOUND,
        }
    };
    Router::new().route("/approve/{task}", post(approve))
}

/// Calls the calendar, and forwards its authorization request to the caller.
struct Assistant {
    calendar: Client,
}

impl AgentExecutor for Assistant {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let mut task = match self.calendar.send(context.text()).await? {
            SendOutcome::Task(task) => Arc::new(task),
            SendOutcome::Message(answer) => return Ok(updates.complete(answer.text()).await?),
        };
        while !task.state().is_terminal() {
            if task.state() == TaskState::AuthRequired {
                let explanation = task.status_text();
                updates.require_auth(format!("The calendar asks: {explanation}")).await?;
                task = self.calendar.wait_while_auth_required(&task.id).await?;
                updates.start().await?;
            }
            task = self.calendar.wait_until(&task.id, |state| state.is_interrupted()).await?;
        }
        updates.complete(format!("Today: {}", task.status_text())).await?;
        Ok(())
    }
}

/// Runs the chain, and returns the dialog.
pub(crate) async fn run() -> Result<Vec<String>, Failure> {
    let approvals = Approvals::default();
    let page_url = listen(page(approvals.clone())).await?;
    let calendar = Calendar { page: page_url, approvals };
    let card = AgentCard::new("Calendar", "Lists today's events");
    let calendar = TestServer::start(Engine::new(card, calendar)).await;

    let assistant = Assistant { calendar: calendar.client.clone() };
    let card = AgentCard::new("Assistant", "Helps with the day");
    let assistant = TestServer::start(Engine::new(card, assistant)).await;
    let client = &assistant.client;

    let mut dialog = Vec::new();
    let mut context_id = String::new();
    // The first approval does not cover the second question.
    for question in ["What is on today?", "And once more?"] {
        dialog.push(format!("user:      {question}"));
        let outcome = client.send(MessageRequest::from(question).in_context(&context_id)).await?;
        context_id = outcome.context_id().to_owned();
        let task = outcome.task().ok_or("the response has no task")?;
        dialog.push(format!("assistant: [{:?}] {}", task.state(), task.status_text()));

        let waiting = client.wait_until(&task.id, TaskState::is_terminal);
        let (done, approved) = tokio::join!(waiting, approve(task.status_text()));
        dialog.push(format!("user:      approves ({})", approved?));
        let done = done?;
        dialog.push(format!("assistant: [{:?}] {}", done.state(), done.status_text()));
    }
    Ok(dialog)
}

/// Approves like a user: opens the URL at the end of the explanation.
async fn approve(explanation: String) -> Result<StatusCode, Failure> {
    let address = explanation.rsplit(' ').next().unwrap_or_default();
    let request = http::Request::post(address).body(bytes::Bytes::new())?;
    let answer = HttpClient::new(ClientSettings::default())?.send(request).await?;
    Ok(answer.status())
}

fn lock(
    approvals: &Mutex<HashMap<String, oneshot::Sender<()>>>,
) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
    approvals.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Serves pages on a free port, and returns their URL.
async fn listen(router: Router) -> Result<String, Failure> {
    let listener = a2a_kit::http::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(a2a_kit::http::HttpServer::new(router).serve(listener, std::future::pending()));
    Ok(url)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    for line in run().await? {
        println!("{line}");
    }
    Ok(())
}
