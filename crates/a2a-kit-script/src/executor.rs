//! Runs the steps of a script.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use a2a_core::{Artifact, Message, Role, Task, TaskState, text, v1::TaskArtifactUpdateEvent};
use a2a_kit_operations::{
    AgentExecutor, BoxError, CancelContext, Recovery, RequestContext, TaskUpdater,
};
use futures_util::FutureExt as _;

use crate::{
    rule::name,
    script::Script,
    step::{self, MAX_REPEAT, MAX_WAIT, Signal, Step},
    template::Template,
};

type Done = Result<(), BoxError>;

/// A message, and the updates of its task.
#[derive(Clone, Copy, Debug)]
struct Turn<'a> {
    script: &'a Script,
    context: &'a RequestContext,
    updates: &'a TaskUpdater,
}

/// A step, and the round of the `repeat` that it is in.
#[derive(Clone, Copy, Debug)]
struct Action<'a> {
    step: &'a Step,
    /// Awaited first.
    pause: Option<&'a Template>,
    round: Round,
}

/// A round of a `repeat`; for the steps behind it, its last one.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    number: u32,
    count: u32,
    is_inside: bool,
}

/// An interrupted run continues behind the last step whose outcome is stored.
impl AgentExecutor for Script {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Done {
        let turn = Turn { script: self, context: &context, updates: &updates };
        let done = {
            let task = context.task();
            let steps = self.0.rules.choose(&task, context.message());
            Box::pin(turn.run(steps)).await
        };
        if context.is_cancelled() {
            // A task that ended by itself in the meantime stays as it is.
            let _ended = updates.status(TaskState::Canceled, "Canceled, as you asked").await;
            return Ok(());
        }
        done
    }

    /// Every script notices a cancel, however early, and ends in its own words.
    async fn cancel(&self, _context: CancelContext) {}

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

impl Turn<'_> {
    async fn run(&self, steps: &[Step]) -> Done {
        if step::end_the_task(steps) {
            self.context.refuse_messages();
        }
        let mut artifact_ids = HashMap::new();
        // Registered before the task asks, so that no authorization comes too early.
        let awaits_authorization =
            |step: &Step| matches!(step, Step::WaitUntil(Signal::Authorized));
        let authorization = steps
            .iter()
            .any(awaits_authorization)
            .then(|| self.script.0.authorizations.enter(self.updates.task_id()));
        for action in self.actions(steps).skip(self.stored(steps)) {
            let render = |template: &Template| self.render(template, action.round);
            if let Some(pause) = action.pause
                && self.canceled_within(self.duration(pause, action.round)).await
            {
                return Ok(());
            }
            match action.step {
                Step::State { state, content } => {
                    let parts = content.parts(render);
                    let message = (!parts.is_empty()).then(|| Message::new(Role::Agent, parts));
                    let is_step_on_the_way = content.is_empty()
                        && !action.round.is_inside
                        && !(state.is_terminal() || state.is_interrupted());
                    let stored = self.updates.status(*state, message);
                    if is_step_on_the_way {
                        // Stored with what follows, at the latest when a step waits.
                        stored.now_or_never().transpose()?;
                    } else {
                        stored.await?;
                    }
                }
                Step::Ask(content) => {
                    let task = self.context.task();
                    // The question of an interrupted run is still open.
                    let is_open =
                        self.context.is_rerun() && task.state() == TaskState::InputRequired;
                    if !is_open {
                        self.updates.require_input(content.parts(render)).await?;
                    }
                    return Ok(());
                }
                Step::Message(content) => self.updates.reply(content.parts(render)).await?,
                Step::Artifact(artifact) => {
                    self.artifact(artifact, action.round, &mut artifact_ids).await?;
                }
                Step::Wait(time) => {
                    if self.canceled_within(self.duration(time, action.round)).await {
                        return Ok(());
                    }
                }
                Step::WaitUntil(signal) => {
                    let granted = async {
                        match (signal, &authorization) {
                            (Signal::Authorized, Some(authorization)) => {
                                authorization.granted().await;
                            }
                            _ => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        () = self.context.cancelled() => return Ok(()),
                        () = granted => {}
                    }
                }
                Step::Panic(message) => {
                    #[expect(clippy::panic, reason = "scripts test how panics are handled")]
                    {
                        panic!("{message}");
                    }
                }
                Step::Builtin(name) => {
                    // Reading the script has refused other names.
                    if let Some(run) = self.script.0.builtins.0.get(name) {
                        run(self.context.clone(), self.updates.clone()).await?;
                    }
                }
                // Replaced by its rounds in `actions`.
                Step::Repeat { .. } => {}
            }
        }
        Ok(())
    }

    /// Returns the steps, with each `repeat` replaced by its rounds.
    fn actions<'s>(&'s self, steps: &'s [Step]) -> impl Iterator<Item = Action<'s>> + Send {
        let mut last = Round::default();
        steps.iter().flat_map(move |step| {
            let before = last;
            let (times, pause, repeated) = match step {
                Step::Repeat { times, pause, steps } => {
                    (self.rounds(times, before), pause.as_ref(), &steps[..])
                }
                _ => (1, None, std::slice::from_ref(step)),
            };
            let is_inside = matches!(step, Step::Repeat { .. });
            if is_inside {
                last = Round { number: times, count: times, is_inside: false };
            }
            (1..=times).flat_map(move |number| {
                let round =
                    if is_inside { Round { number, count: times, is_inside } } else { before };
                repeated.iter().enumerate().map(move |(index, step)| {
                    let pause = pause.filter(|_| number > 1 && index == 0);
                    Action { step, pause, round }
                })
            })
        })
    }

    /// Returns how many actions an interrupted run has completed, by what is stored of the task.
    fn stored(&self, steps: &[Step]) -> usize {
        if !self.context.is_rerun() {
            return 0;
        }
        let task = self.context.task();
        let texts = self.texts(&task);
        let mut chunks = HashMap::new();
        let mut stored = 0;
        for (index, action) in self.actions(steps).enumerate() {
            let is_stored = match action.step {
                Step::State { content, .. } => {
                    let parts = content.parts(|text| self.render(text, action.round));
                    texts.contains(&Message::new(Role::Agent, parts).text())
                }
                Step::Artifact(artifact) => {
                    let known = find(&task, artifact);
                    let parts = artifact.parts(&self.context.message().parts, |_| String::new());
                    let expected = chunks.entry((&artifact.id, &artifact.name)).or_insert(0);
                    *expected += parts.len();
                    known.is_some_and(|known| known.parts.len() >= *expected)
                }
                _ => false,
            };
            if is_stored {
                stored = index + 1;
            }
        }
        // A state without a text is known by the current state only.
        let is_wait = |step: &Step| matches!(step, Step::Wait(_) | Step::WaitUntil(_));
        let mut next = self.actions(steps).enumerate().skip(stored);
        match next.find(|(_, action)| !is_wait(action.step)) {
            Some((index, Action { step: Step::State { state, content }, .. }))
                if *state == task.state() && content.is_empty() =>
            {
                index + 1
            }
            _ => stored,
        }
    }

    /// The texts of the statuses since the message.
    fn texts(&self, task: &Task) -> HashSet<String> {
        let since = task.history.iter().rposition(|message| message.role() == Role::User);
        let messages = task.history.iter().skip(since.map_or(0, |index| index + 1));
        let texts = messages.chain(task.status_message()).map(Message::text);
        texts.filter(|text| !text.is_empty()).collect()
    }

    async fn artifact(
        &self,
        artifact: &step::Artifact,
        round: Round,
        ids: &mut HashMap<String, String>,
    ) -> Done {
        let append = artifact.append || (round.is_inside && round.number > 1);
        let known = || {
            let stored =
                || find(&self.context.task(), artifact).map(|known| known.artifact_id.clone());
            ids.get(&artifact.name).cloned().or_else(stored).filter(|_| append)
        };
        let artifact_id = artifact.id.clone().or_else(known).unwrap_or_else(a2a_core::fresh_id);
        ids.insert(artifact.name.clone(), artifact_id.clone());
        let message = &self.context.message().parts;
        let parts = artifact.parts(message, |template| self.render(template, round));
        let update = TaskArtifactUpdateEvent {
            artifact: Some(Artifact {
                artifact_id,
                name: artifact.name.clone(),
                parts,
                ..Artifact::default()
            }),
            append,
            last_chunk: artifact.last_chunk && (!round.is_inside || round.number == round.count),
            ..TaskArtifactUpdateEvent::default()
        };
        self.updates.artifact_update(update).await?;
        Ok(())
    }

    /// Waits, and returns whether the client canceled meanwhile.
    async fn canceled_within(&self, time: Duration) -> bool {
        if time.is_zero() {
            return self.context.is_cancelled();
        }
        tokio::select! {
            () = self.context.cancelled() => true,
            () = tokio::time::sleep(time) => false,
        }
    }

    /// Returns a duration, or its default if the message has an invalid one.
    fn duration(&self, time: &Template, round: Round) -> Duration {
        let read = |text: String| text::duration(&text).ok();
        let default = || time.with_defaults().and_then(read);
        read(self.render(time, round)).or_else(default).unwrap_or_default().min(MAX_WAIT)
    }

    fn rounds(&self, times: &Template, round: Round) -> u32 {
        let read = |text: String| text.trim().parse().ok();
        let default = || times.with_defaults().and_then(read);
        read(self.render(times, round)).or_else(default).unwrap_or(1).clamp(1, MAX_REPEAT)
    }

    fn render(&self, template: &Template, round: Round) -> String {
        template.render(|name| self.value(name, round))
    }

    /// The text behind the first word.
    fn argument(&self) -> String {
        let text = self.context.text();
        let rest = text.trim_start().split_once(char::is_whitespace).map(|(_, rest)| rest);
        rest.unwrap_or_default().trim().to_owned()
    }

    fn value(&self, placeholder: &str, round: Round) -> Option<String> {
        let message = self.context.message();
        Some(match placeholder {
            "text" => message.text(),
            "argument" => self.argument(),
            "name" => name(message)?,
            "message.id" => message.message_id.clone(),
            "task.id" => self.context.task_id().to_owned(),
            "context.id" => self.context.context_id().to_owned(),
            "extensions" => {
                let extensions: Vec<_> = self.context.call().extensions.iter().collect();
                extensions.join(",")
            }
            "number" => round.number.to_string(),
            "count" => round.count.to_string(),
            "skills" => self.script.0.card.skills(),
            _ => {
                if let Some(member) = placeholder.strip_prefix("metadata.") {
                    let value = message.metadata.as_ref()?.get(member)?.clone();
                    match serde_json::Value::from(value) {
                        serde_json::Value::String(text) => text,
                        other => other.to_string(),
                    }
                } else if let Some(variable) = placeholder.strip_prefix("env.") {
                    std::env::var(variable).ok()?
                } else {
                    let word = placeholder.parse::<usize>().ok()?.checked_sub(1)?;
                    self.argument().split_whitespace().nth(word)?.to_owned()
                }
            }
        })
    }
}

fn find<'a>(task: &'a Task, artifact: &step::Artifact) -> Option<&'a Artifact> {
    task.artifacts.iter().find(|known| match &artifact.id {
        Some(id) => known.artifact_id == *id,
        None => known.name == artifact.name,
    })
}
