//! The demo agent: one agent for people who try the tool, for tests, and for conformance suites.
//!
//! What it does is chosen by [`rule`]; each table of behaviours has a file.

mod authorize;
mod bench;
mod call;
mod card;
mod client_parse;
mod message_id;
mod rule;
mod text;
mod word;

use std::{sync::Arc, time::Duration};

use a2a_core::{Artifact, Message, Part, TaskState};
use a2a_http::{WebhookPolicy, tls::ClientTls};
use a2a_operations::{AgentError, AgentExecutor, Recovery, RequestContext, TaskUpdater};

pub(crate) use authorize::Authorizations;
pub(crate) use card::{card, echo_card, extended_card};
use rule::Rule;

/// Which of the demo agent's faces is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Profile {
    /// For people: words such as `stream 5` and `ask`.
    #[default]
    Demo,
    /// For conformance suites.
    Conformance,
    /// For measurements: the least work around the library.
    Bench,
}

/// The demo agent.
///
/// A turn that was cut off is run again and goes on where its task stands: what was told already
/// is not told again.
#[derive(Clone, Debug, Default)]
pub(crate) struct DemoAgent {
    pub(crate) profile: Profile,
    /// Whether the conformance profile completes what no rule matches, and does not ask for more.
    pub(crate) completes: bool,
    /// Who waits for `POST /demo/authorize/<taskId>`.
    pub(crate) authorizations: Authorizations,
    /// What the word `call` may call; `None` where it may call anything.
    pub(crate) reach: Option<WebhookPolicy>,
    /// Whose certificates it believes there.
    pub(crate) trust: ClientTls,
    /// How long the suites expect streams to last, in seconds (`TCK_STREAMING_TIMEOUT`).
    pub(crate) streaming_timeout: Duration,
}

/// An agent that gives back what it hears.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EchoAgent;

impl AgentExecutor for EchoAgent {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Done {
        let agent = Arc::new(DemoAgent::default());
        let parts = context.message().parts.clone();
        echo(&Turn { agent, context, updates }, parts).await
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

/// One message being handled: what it is and what changes the task.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    agent: Arc<DemoAgent>,
    context: RequestContext,
    updates: TaskUpdater,
}

/// What a behaviour gives back.
type Done = Result<(), AgentError>;

impl AgentExecutor for DemoAgent {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Done {
        let turn = Turn {
            agent: Arc::new(self.clone()),
            context: context.clone(),
            updates: updates.clone(),
        };
        let done = match self.choose(&context) {
            Rule::Bench => bench::run(turn).await,
            // Boxed, so that the smallest is not as large as the largest.
            Rule::MessageId(name) => Box::pin(message_id::run(name, turn)).await,
            Rule::Text(name) => Box::pin(text::run(&name, turn)).await,
            Rule::Word(word) => Box::pin(word::run(word, turn)).await,
            Rule::Default => Box::pin(default(turn)).await,
        };
        if context.is_cancelled() {
            // A task that ended by itself in the meantime stays as it is.
            let _ended = updates.status(TaskState::Canceled, "Canceled, as you asked").await;
            return Ok(());
        }
        done
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

impl DemoAgent {
    /// Chooses by the message, and for one that only continues a task by the message that the
    /// task began with.
    fn choose(&self, context: &RequestContext) -> Rule {
        let first = || {
            let task = context.task();
            let first = task.history.iter().find(|message| message.role() == a2a_core::Role::User);
            first.and_then(|message| Rule::of(message, self.profile))
        };
        Rule::of(context.message(), self.profile).or_else(first).unwrap_or(Rule::Default)
    }
}

impl Turn {
    /// All text of the message.
    fn text(&self) -> String {
        self.context.text()
    }

    fn message(&self) -> &Message {
        self.context.message()
    }

    /// The text behind the first word.
    fn argument(&self) -> String {
        let text = self.text();
        let rest = text.trim_start().split_once(char::is_whitespace).map(|(_, rest)| rest);
        rest.unwrap_or_default().trim().to_owned()
    }

    /// Waits, and returns whether the client canceled meanwhile.
    async fn canceled_within(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.context.cancelled() => true,
            () = tokio::time::sleep(time) => false,
        }
    }

    /// Says that work has begun, unless a run that was cut off has said so.
    async fn start(&self) -> Done {
        let task = self.context.task();
        if !(self.context.is_rerun() && task.state() == TaskState::Working) {
            self.updates.start().await?;
        }
        Ok(())
    }

    /// Gives an artifact, unless a run that was cut off has given one by that name.
    async fn give(&self, artifact: Artifact) -> Done {
        if self.told(&artifact.name) == 0 {
            self.updates.artifact(artifact).await?;
        }
        Ok(())
    }

    /// Gives one artifact and completes, without a text beside it that clients would show in place
    /// of the answer.
    async fn answer(&self, artifact: Artifact) -> Done {
        self.give(artifact).await?;
        self.updates.complete(()).await?;
        Ok(())
    }

    /// How many parts of an artifact a run that was cut off has given.
    fn told(&self, name: &str) -> usize {
        if !self.context.is_rerun() {
            return 0;
        }
        let task = self.context.task();
        let known = task.artifacts.iter().find(|artifact| artifact.name == name);
        known.map_or(0, |artifact| artifact.parts.len())
    }

    /// Gives an artifact in chunks, those that are not there yet.
    async fn chunks(&self, id: &str, name: &str, texts: &[&str]) -> Done {
        for (index, text) in texts.iter().enumerate().skip(self.told(name)) {
            let chunk = Artifact::new(name, *text).with_id(id);
            match (index == 0, index + 1 == texts.len()) {
                (true, true) => self.updates.artifact(chunk).await?,
                (true, false) => self.updates.begin(chunk).await?,
                (false, false) => self.updates.append(chunk).await?,
                (false, true) => self.updates.append_last(chunk).await?,
            }
        }
        Ok(())
    }
}

/// What no rule matches.
async fn default(turn: Turn) -> Done {
    let text = turn.text();
    if turn.agent.profile == Profile::Demo {
        return echo(&turn, turn.message().parts.clone()).await;
    }
    turn.start().await?;
    if turn.agent.completes {
        return turn.answer(Artifact::new("echo", format!("Echo: {text}"))).await;
    }
    if turn.canceled_within(Duration::from_millis(300)).await {
        return Ok(());
    }
    turn.updates.require_input(format!("Echo: {text}")).await?;
    Ok(())
}

/// Gives back what was said.
async fn echo(turn: &Turn, parts: Vec<Part>) -> Done {
    turn.start().await?;
    turn.answer(artifact("echo", parts)).await
}

/// An artifact of any number of parts.
fn artifact(name: &str, parts: Vec<Part>) -> Artifact {
    let artifact_id = a2a_core::fresh_id();
    Artifact { artifact_id, name: name.to_owned(), parts, ..Artifact::default() }
}
