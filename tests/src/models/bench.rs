//! One provider: a mock of it, and an agent in front.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use a2a_core::{ExtensionSet, Task, TaskState, v1::TaskArtifactUpdateEvent};
use a2a_kit_client::{Client, Events, MessageRequest};
use tokio::time::Instant;

use super::{
    Plan, Provider, Result,
    aimock::{Aimock, KEY},
    process::Process,
};

/// The extension that reports the use of tokens.
pub(super) const USAGE: &str = "urn:x-a2a:usage:1";

/// A mock of a provider, and `a2a serve --model` in front of it.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) provider: Provider,
    pub(super) mock: Aimock,
    pub(super) agent: Agent,
    binary: PathBuf,
    folder: PathBuf,
    path: &'static str,
}

/// `a2a serve --model`, killed on drop.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) client: Client,
    /// Its store and its log.
    pub(super) folder: PathBuf,
    _process: Process,
}

impl Bench {
    /// Starts both; the API is below `path` of the mock.
    pub(super) async fn start(plan: &Plan, provider: Provider, path: &'static str) -> Result<Self> {
        let folder = plan.folder.join(provider.name);
        fs::create_dir_all(&folder)?;
        let mock = Aimock::start(&plan.mock, &folder.join("mock.log"))?;
        let binary = plan.binary.clone();
        let agent = serve(&binary, provider, &mock, path, KEY, folder.join("agent")).await?;
        Ok(Self { provider, mock, agent, binary, folder, path })
    }

    /// Starts another agent, or again one that was killed, with the store in the directory `name`.
    pub(super) async fn another(&self, name: &str, key: &str) -> Result<Agent> {
        let folder = self.folder.join(name);
        serve(&self.binary, self.provider, &self.mock, self.path, key, folder).await
    }
}

async fn serve(
    binary: &Path,
    provider: Provider,
    mock: &Aimock,
    path: &str,
    key: &str,
    folder: PathBuf,
) -> Result<Agent> {
    fs::create_dir_all(&folder)?;
    let settings = folder.join("settings.toml");
    fs::write(&settings, "[model]\nkey_file = \"key\"\nheaders = [\"X-Test-Id: a\"]\n")?;
    fs::write(folder.join("key"), key)?;
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o600))?;
    let mut command = Command::new(binary);
    command.args(["serve", "--port", "0", "--settings", "settings.toml", "--store", "tasks.db"]);
    command.args(["--model", &format!("{}/test-model", provider.name)]);
    command.args(["--base-url", &format!("{}{path}", mock.url())]);
    command.current_dir(&folder).env("RUST_LOG", "trace,h2=info,hyper=info");
    let process = Process::start(&mut command, "Listening: ", &folder.join("log"))?;
    let client = Client::connect(&process.url).await?;
    Ok(Agent { client, folder, _process: process })
}

impl Agent {
    /// Sends, and returns the task at its end.
    pub(super) async fn task(&self, message: impl Into<MessageRequest>) -> Result<Task> {
        let outcome = self.client.send(message).await?;
        Ok(outcome.task().cloned().ok_or("the response is a message")?)
    }

    /// Sends with an extension activated.
    pub(super) async fn task_with(&self, extension: &str, text: &str) -> Result<Task> {
        let mut context = self.client.context().clone();
        context.extensions = ExtensionSet::from_iter([extension]);
        let outcome = self.client.with_context(context).send(text).await?;
        Ok(outcome.task().cloned().ok_or("the response is a message")?)
    }

    /// Sends with a stream, which is read to its end.
    pub(super) async fn stream(&self, text: &str) -> Result<Seen> {
        let mut seen = Seen::default();
        let mut events = self.client.stream(text).await?;
        while seen.next(&mut events).await? {}
        Ok(seen)
    }
}

/// The events of a stream.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) task: String,
    pub(super) state: Option<TaskState>,
    /// The updates of artifacts, with the times at which they came.
    pub(super) updates: Vec<(Instant, TaskArtifactUpdateEvent)>,
    /// The time of the last event.
    pub(super) end: Option<Instant>,
}

impl Seen {
    /// Reads an event; `false` at the end of the stream.
    pub(super) async fn next(&mut self, events: &mut Events) -> Result<bool> {
        let Some(event) = events.next().await.transpose()? else { return Ok(false) };
        self.end = Some(Instant::now());
        self.task = event.task_id().map_or_else(|| self.task.clone(), str::to_owned);
        self.state = event.state().or(self.state);
        if let Some(update) = event.artifact_update() {
            self.updates.push((Instant::now(), update.clone()));
        }
        Ok(true)
    }

    /// The text of the artifact, as a reader puts it together.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (_, update) in &self.updates {
            if !update.append {
                text.clear();
            }
            text.extend(update.artifact.iter().map(|artifact| artifact.text()));
        }
        text
    }

    /// The number of updates that begin the artifact, or begin it again.
    pub(super) fn beginnings(&self) -> usize {
        self.updates.iter().filter(|(_, update)| !update.append).count()
    }

    /// The number of updates that end it.
    pub(super) fn ends(&self) -> usize {
        self.updates.iter().filter(|(_, update)| update.last_chunk).count()
    }
}
