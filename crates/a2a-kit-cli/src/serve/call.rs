//! `call`: an agent that calls another agent while it works.

use std::error::Error;

use a2a_core::{
    Artifact, ErrorKind, Message, Part, TaskState,
    v1::{StreamResponse, TaskStatus, stream_response::Payload},
};
use a2a_kit_client::{CardReference, Client};
use a2a_kit_http::{WebhookPolicy, client::ClientSettings, tls::ClientTls};
use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, TaskUpdater};

use crate::failure::chain;

type Done = Result<(), BoxError>;

/// Calls the agent that the first word behind `call` names, with the rest of the text, and
/// relays its response.
#[derive(Clone, Debug)]
pub(super) struct Relay {
    /// Addresses that it may connect to; `None` is any.
    pub(super) reach: Option<WebhookPolicy>,
    /// The certificates that it trusts there.
    pub(super) trust: ClientTls,
}

/// A message, and the updates of its task.
struct Turn {
    context: RequestContext,
    updates: TaskUpdater,
}

impl AgentExecutor for Relay {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Done {
        let turn = Turn { context, updates };
        let updates = &turn.updates;
        let text = turn.context.text();
        let argument = text.trim().split_once(char::is_whitespace).map(|(_, rest)| rest.trim());
        let Some(argument) = argument else {
            updates.reject("Say whom to call: call <card reference> <text>").await?;
            return Ok(());
        };
        let (reference, text) =
            argument.split_once(char::is_whitespace).unwrap_or((argument, "hello"));
        if !(turn.context.is_rerun() && turn.context.task().state() == TaskState::Working) {
            updates.start().await?;
        }
        let client = match self.connect(reference).await {
            Ok(client) => client,
            Err(error) => {
                updates.fail(format!("{reference} can't be called: {}", chain(&*error))).await?;
                return Ok(());
            }
        };
        let mut called = None;
        let relayed = tokio::select! {
            relayed = relay(&turn, &client, text.trim(), &mut called) => relayed?,
            () = turn.context.cancelled() => {
                if let Some(task_id) = called {
                    // Whether it stops is up to the other agent; this task is canceled either way.
                    let _answer = client.cancel(task_id).await;
                }
                return Ok(());
            }
        };
        if let Err(error) = relayed {
            updates.fail(format!("{reference} failed: {error}")).await?;
        }
        Ok(())
    }
}

impl Relay {
    /// Connects to an agent on the web, as far as this one may call it.
    async fn connect(&self, reference: &str) -> Result<Client, Box<dyn Error + Send + Sync>> {
        // The files of this machine are not for callers, not even to know which there are.
        if !matches!(reference.parse()?, CardReference::Url(_)) {
            return Err("only agents on the web may be called".into());
        }
        let settings =
            ClientSettings::default().with_tls(self.trust.clone()).with_policy(self.reach.clone());
        Ok(Client::builder().http(settings).connect(reference).await?)
    }
}

/// Relays a stream, or the one answer of an agent that doesn't stream.
async fn relay(
    turn: &Turn,
    client: &Client,
    text: &str,
    called: &mut Option<String>,
) -> Result<Result<(), a2a_core::Error>, BoxError> {
    let mut events = match client.stream(text).await {
        Ok(events) => events,
        Err(error) if error.kind() == ErrorKind::UnsupportedOperation => {
            let answer = match client.send_text(text).await {
                Ok(answer) => answer,
                Err(error) => return Ok(Err(error)),
            };
            turn.updates.artifact(with_parts("answer", vec![answer.into()])).await?;
            turn.updates.complete(()).await?;
            return Ok(Ok(()));
        }
        Err(error) => return Ok(Err(error)),
    };
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event.into_response(),
            Err(error) => return Ok(Err(error)),
        };
        pass_on(turn, event, called).await?;
    }
    Ok(Ok(()))
}

/// Makes another agent's event one of this task.
async fn pass_on(turn: &Turn, event: StreamResponse, called: &mut Option<String>) -> Done {
    let updates = &turn.updates;
    match event.payload {
        Some(Payload::Task(task)) => {
            *called = Some(task.id.clone());
            for artifact in task.artifacts {
                updates.artifact(artifact).await?;
            }
            if let Some(status) = task.status {
                pass_on_status(turn, status).await?;
            }
        }
        Some(Payload::StatusUpdate(update)) => {
            if let Some(status) = update.status {
                pass_on_status(turn, status).await?;
            }
        }
        Some(Payload::ArtifactUpdate(update)) => updates.artifact_update(update).await?,
        Some(Payload::Message(message)) => {
            updates.artifact(with_parts("answer", message.parts)).await?;
            updates.complete(()).await?;
        }
        None => {}
    }
    Ok(())
}

async fn pass_on_status(turn: &Turn, status: TaskStatus) -> Done {
    let state = status.state();
    if matches!(state, TaskState::Unspecified | TaskState::Submitted) {
        return Ok(());
    }
    let said = status.message.map(|message| message.parts).filter(|parts| !parts.is_empty());
    let message = match said {
        Some(parts) => Some(Message::new(a2a_core::Role::Agent, parts)),
        // The artifact is the response; no status text is needed.
        None if state == TaskState::Completed && !turn.context.task().artifacts.is_empty() => None,
        None if state.is_terminal() => Some(Message::agent("Relayed")),
        None => None,
    };
    turn.updates.status(state, message).await?;
    Ok(())
}

/// An artifact of any number of parts.
fn with_parts(name: &str, parts: Vec<Part>) -> Artifact {
    let artifact_id = a2a_core::fresh_id();
    Artifact { artifact_id, name: name.to_owned(), parts, ..Artifact::default() }
}
