//! The steps of a rule, as they are written.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use a2a_core::{Part, TaskState, text, v1::part, well_known::Value};
use a2a_kit_operations::{AgentExecutor, BoxError, RequestContext, TaskUpdater};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, de};

use crate::template::Template;

/// Most rounds of one `repeat`.
pub(crate) const MAX_REPEAT: u32 = 10_000;
/// Longest `wait` and `pause`.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(3600);

const ONE_ACTION: &str = "a step has exactly one of state, ask, message, artifact, wait, \
                          wait_until, repeat, panic and builtin";
const NEEDS_DEFAULT: &str = "a placeholder here needs a default, such as {1|5}";

/// One step of the answer to a message.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "StepFile")]
pub(crate) enum Step {
    /// Sets the state, with an optional status message.
    State {
        state: TaskState,
        content: Content,
    },
    /// Sets INPUT_REQUIRED; the next message continues behind this step.
    Ask(Content),
    /// Answers with a message in place of a task.
    Message(Content),
    Artifact(Artifact),
    Wait(Template),
    WaitUntil(Signal),
    Repeat {
        times: Template,
        pause: Option<Template>,
        steps: Vec<Self>,
    },
    Panic(String),
    /// Runs a behaviour of [`Builtins`].
    Builtin(String),
}

/// Returns whether steps end the task without waiting for anybody, so that no further message can
/// get a turn.
pub(crate) fn end_the_task(steps: &[Step]) -> bool {
    let waits = |step: &Step| matches!(step, Step::Ask(_) | Step::WaitUntil(Signal::Authorized));
    let ends = |step: &Step| match step {
        Step::State { state, .. } => state.is_terminal(),
        Step::Message(_) => true,
        _ => false,
    };
    !steps.iter().any(waits) && steps.iter().any(ends)
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Signal {
    /// The client cancels the task.
    Canceled,
    /// `POST /demo/authorize/<task id>`.
    Authorized,
}

type Run =
    dyn Fn(RequestContext, TaskUpdater) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;

/// Behaviours in code: what a step with `builtin = "name"` does.
///
/// ```
/// use a2a_kit_operations::agent_fn;
/// use a2a_kit_script::Builtins;
///
/// let builtins = Builtins::new().with("shout", agent_fn(async |text: String| text.to_uppercase()));
/// let script = builtins.parse("shouter.toml", "[default]\nsteps = [{ builtin = \"shout\" }]")?;
/// # Ok::<(), a2a_kit_script::ScriptError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Builtins(pub(crate) BTreeMap<String, Arc<Run>>);

impl Builtins {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a behaviour: an executor that gets the message, and ends the task.
    pub fn with(mut self, name: impl Into<String>, executor: impl AgentExecutor) -> Self {
        let executor = Arc::new(executor);
        let run = move |context, updates| -> BoxFuture<'static, Result<(), BoxError>> {
            let executor = Arc::clone(&executor);
            Box::pin(async move { executor.execute(context, updates).await })
        };
        self.0.insert(name.into(), Arc::new(run));
        self
    }
}

impl fmt::Debug for Builtins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The parts of a message: a text, then others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    text: Option<Template>,
    parts: Vec<PartTemplate>,
}

/// An artifact, or a chunk of one. In a `repeat`, each round is a chunk.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    #[serde(default)]
    pub(crate) name: String,
    /// Its id; a generated one if there is none.
    pub(crate) id: Option<String>,
    text: Option<Template>,
    #[serde(default)]
    parts: Vec<PartTemplate>,
    /// Whether it has the parts of the message.
    #[serde(default)]
    pub(crate) copy_message: bool,
    #[serde(default)]
    pub(crate) append: bool,
    #[serde(default = "yes")]
    pub(crate) last_chunk: bool,
}

/// A part whose texts may have placeholders.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "PartFile")]
pub(crate) struct PartTemplate {
    content: PartContent,
    filename: String,
    media_type: String,
}

#[derive(Clone, Debug)]
enum PartContent {
    Text(Template),
    Url(Template),
    Data(Value),
    Raw(Bytes),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFile {
    #[serde(default, deserialize_with = "state")]
    state: Option<TaskState>,
    ask: Option<Template>,
    message: Option<Template>,
    artifact: Option<Artifact>,
    wait: Option<Template>,
    wait_until: Option<Signal>,
    repeat: Option<Template>,
    panic: Option<String>,
    builtin: Option<String>,
    text: Option<Template>,
    #[serde(default)]
    parts: Vec<PartTemplate>,
    pause: Option<Template>,
    steps: Option<Vec<Step>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartFile {
    text: Option<Template>,
    url: Option<Template>,
    json: Option<String>,
    bytes: Option<String>,
    base64: Option<String>,
    #[serde(default)]
    filename: String,
    #[serde(default)]
    media_type: String,
}

fn yes() -> bool {
    true
}

fn state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaskState>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text::state(&text).map(Some).map_err(de::Error::custom)
}

impl Step {
    /// The step of scripts without a default.
    pub(crate) fn no_rule_matches() -> Self {
        let text = "no rule of the script matches the message".parse().ok();
        let content = Content { text, parts: Vec::new() };
        Self::State { state: TaskState::Rejected, content }
    }

    pub(crate) fn is_question(&self) -> bool {
        matches!(self, Self::Ask(_))
    }

    /// Returns whether no step can follow.
    pub(crate) fn is_end(&self) -> bool {
        match self {
            Self::State { state, .. } => state.is_terminal(),
            Self::WaitUntil(signal) => *signal == Signal::Canceled,
            Self::Message(_) | Self::Panic(_) | Self::Builtin(_) => true,
            Self::Ask(_) | Self::Artifact(_) | Self::Wait(_) | Self::Repeat { .. } => false,
        }
    }
}

impl TryFrom<StepFile> for Step {
    type Error = String;

    fn try_from(file: StepFile) -> Result<Self, String> {
        let StepFile { parts, text, pause, steps, .. } = file;
        if text.is_some() && file.state.is_none() {
            return Err("text is only for a step with state".into());
        }
        if (pause.is_some() || steps.is_some()) && file.repeat.is_none() {
            return Err("steps and pause are only for a step with repeat".into());
        }
        let with_content = match (file.state, file.ask, file.message) {
            (Some(state), None, None) => {
                Some(Self::State { state, content: Content { text, parts } })
            }
            (None, Some(text), None) => Some(Self::Ask(Content { text: Some(text), parts })),
            (None, None, Some(text)) => Some(Self::Message(Content { text: Some(text), parts })),
            (None, None, None) if parts.is_empty() => None,
            (None, None, None) => {
                return Err("parts are only for a step with state, ask or message".into());
            }
            _ => return Err(ONE_ACTION.into()),
        };
        let repeat = file.repeat.map(|times| repeat(times, pause, steps.unwrap_or_default()));
        let repeat = repeat.transpose()?;
        file.wait.iter().try_for_each(check_duration)?;
        let actions = [
            with_content,
            file.artifact.map(Self::Artifact),
            file.wait.map(Self::Wait),
            file.wait_until.map(Self::WaitUntil),
            repeat,
            file.panic.map(Self::Panic),
            file.builtin.map(Self::Builtin),
        ];
        let mut actions = actions.into_iter().flatten();
        match (actions.next(), actions.next()) {
            (Some(step), None) => Ok(step),
            _ => Err(ONE_ACTION.into()),
        }
    }
}

fn repeat(times: Template, pause: Option<Template>, steps: Vec<Step>) -> Result<Step, String> {
    if steps.is_empty() {
        return Err("repeat needs steps".into());
    }
    let is_plain = |step: &Step| {
        matches!(step, Step::State { .. } | Step::Artifact(_) | Step::Wait(_)) && !step.is_end()
    };
    if !steps.iter().all(is_plain) {
        return Err("repeat takes steps with artifact, wait, or a state that is not final".into());
    }
    let rounds = times.with_defaults().ok_or(NEEDS_DEFAULT)?;
    if !rounds.trim().parse().is_ok_and(|rounds| (1..=MAX_REPEAT).contains(&rounds)) {
        return Err(format!("repeat {rounds:?} is not a number from 1 to {MAX_REPEAT}"));
    }
    pause.iter().try_for_each(check_duration)?;
    Ok(Step::Repeat { times, pause, steps })
}

/// Checks a duration, as far as the script has it.
fn check_duration(time: &Template) -> Result<(), String> {
    let text = time.with_defaults().ok_or(NEEDS_DEFAULT)?;
    match text::duration(&text)? {
        time if time <= MAX_WAIT => Ok(()),
        _ => Err(format!("{text:?} is longer than 1h")),
    }
}

impl Artifact {
    /// The parts of the artifact, or of its chunk.
    pub(crate) fn parts(
        &self,
        message: &[Part],
        render: impl Fn(&Template) -> String,
    ) -> Vec<Part> {
        let copied = if self.copy_message { message } else { &[] };
        let text = self.text.iter().map(|text| Part::text(render(text)));
        let parts = self.parts.iter().map(|part| part.render(&render));
        copied.iter().cloned().chain(text).chain(parts).collect()
    }
}

impl Content {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_none() && self.parts.is_empty()
    }

    pub(crate) fn parts(&self, render: impl Fn(&Template) -> String) -> Vec<Part> {
        let text = self.text.iter().map(|text| Part::text(render(text)));
        text.chain(self.parts.iter().map(|part| part.render(&render))).collect()
    }
}

impl PartTemplate {
    fn render(&self, render: impl Fn(&Template) -> String) -> Part {
        let content = match &self.content {
            PartContent::Text(text) => part::Content::Text(render(text)),
            PartContent::Url(url) => part::Content::Url(render(url)),
            PartContent::Data(data) => part::Content::Data(data.clone()),
            PartContent::Raw(bytes) => part::Content::Raw(bytes.clone()),
        };
        Part {
            content: Some(content),
            filename: self.filename.clone(),
            media_type: self.media_type.clone(),
            ..Part::default()
        }
    }
}

impl TryFrom<PartFile> for PartTemplate {
    type Error = String;

    fn try_from(file: PartFile) -> Result<Self, String> {
        let data = file.json.map(|json| serde_json::from_str::<serde_json::Value>(&json));
        let data = data.transpose().map_err(|error| format!("invalid json: {error}"))?;
        let decoded = file.base64.map(|base64| STANDARD.decode(base64)).transpose();
        let decoded = decoded.map_err(|error| format!("invalid base64: {error}"))?;
        let contents = [
            file.text.map(PartContent::Text),
            file.url.map(PartContent::Url),
            data.map(|data| PartContent::Data(data.into())),
            file.bytes.map(|text| PartContent::Raw(text.into())),
            decoded.map(|bytes| PartContent::Raw(bytes.into())),
        ];
        let mut contents = contents.into_iter().flatten();
        match (contents.next(), contents.next()) {
            (Some(content), None) => {
                Ok(Self { content, filename: file.filename, media_type: file.media_type })
            }
            _ => Err("a part has exactly one of text, url, json, bytes and base64".into()),
        }
    }
}
