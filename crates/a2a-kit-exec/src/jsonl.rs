//! JSON lines: the message in on one line, events out on one line each.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use a2a_core::{Artifact, Message, Role, TaskState};
use a2a_kit_operations::{
    BoxError, RequestContext, StatusMessage, TaskUpdater, UpdateError, metrics::Counted,
};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    exec::{Exec, Shared, Turn},
    line::{EXPECTED, Line},
    plain::OUTPUT_ID,
    process::Process,
    splitter::{MAX_BYTES, Splitter},
    stderr::{Log, invalid_output},
};

/// How long a task waits for the first line before it is WORKING: a message as the first line comes
/// in place of a task.
const SILENCE: Duration = Duration::from_millis(100);

/// Runs the command, and applies its lines to the task.
///
/// A command that asks gives its slot back. If it is ended before the answer, the answer starts it
/// again with the same message: what it says before its questions is dropped, and they get the
/// recorded answers.
pub(crate) async fn run(
    agent: &Exec,
    shared: &Shared,
    context: &RequestContext,
    updates: &TaskUpdater,
    slot: Turn,
    strict: bool,
) -> Result<(), BoxError> {
    updates.check_lease()?;
    let (mut process, mut stdin) = Process::start(agent, shared, context)?;
    let (inputs, mut input) = mpsc::channel::<Vec<u8>>(1);
    let feed = async move {
        while let Some(line) = input.recv().await {
            stdin.write(&line).await;
        }
        stdin.close();
        Ok::<_, BoxError>(())
    };
    let mut dialogue = Dialogue {
        shared,
        context,
        updates,
        slot: Some(slot),
        strict,
        stray: Log::new(&shared.stderr, context.task_id()),
        inputs: Some(inputs),
        is_started: false,
        has_output: false,
        has_ended: false,
    };
    let talk = async {
        dialogue.tell(context.message()).await?;
        let mut lines = Splitter::new(b"\n");
        loop {
            let received = match dialogue.is_started {
                true => Ok(process.stdout.recv().await),
                false => timeout(SILENCE, process.stdout.recv()).await,
            };
            let Ok(received) = received else {
                dialogue.start().await?;
                continue;
            };
            let Some(bytes) = received else { break };
            let too_long = |reason: String| invalid_output(context.task_id(), &reason, b"");
            for line in lines.push(&bytes).map_err(too_long)? {
                dialogue.line(&line).await?;
            }
        }
        dialogue.line(&lines.rest()).await?;
        // Nothing more can come.
        dialogue.inputs = None;
        Ok::<_, BoxError>(dialogue.has_ended)
    };
    let worked = tokio::select! {
        () = context.cancelled() => None,
        // A rejected update ends the run at once: the command may block on its output.
        worked = async { tokio::try_join!(talk, feed) } => Some(worked?),
    };
    let Some((has_ended, ())) = worked else {
        process.terminate().await;
        return Ok(());
    };
    let files = match process.ended(context).await {
        // It has said how the task ends.
        _ if has_ended => return Ok(()),
        ended => ended?,
    };
    for file in files {
        updates.artifact(file).await?;
    }
    // Clients would show a status text in place of the artifact.
    let text = context.task().artifacts.is_empty().then(|| Message::agent("The command has ended"));
    updates.complete(text).await?;
    Ok(())
}

/// Turns lines into updates of the task.
struct Dialogue<'a> {
    shared: &'a Shared,
    context: &'a RequestContext,
    updates: &'a TaskUpdater,
    /// `None` while the command waits for an answer.
    slot: Option<Turn>,
    strict: bool,
    stray: Log<'a>,
    /// The lines of stdin; closed once the command has ended the task.
    inputs: Option<mpsc::Sender<Vec<u8>>>,
    is_started: bool,
    /// Whether the artifact with the output has begun.
    has_output: bool,
    has_ended: bool,
}

impl Dialogue<'_> {
    /// Writes a line to stdin.
    async fn tell(&self, value: &impl Serialize) -> Result<(), BoxError> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        if let Some(inputs) = &self.inputs {
            let _closed = inputs.send(line).await;
        }
        Ok(())
    }

    /// The last tasks of the conversation before this one, oldest first, as far as a line may be long.
    async fn history(&self, count: u8) -> Result<VecDeque<Box<RawValue>>, BoxError> {
        let (mut tasks, mut bytes) = (VecDeque::new(), 0);
        for task in self.context.tasks_in_context().await?.into_iter().take(count.into()) {
            let task = serde_json::value::to_raw_value(&*task)?;
            bytes += task.get().len();
            if bytes > MAX_BYTES {
                break;
            }
            tasks.push_front(task);
        }
        Ok(tasks)
    }

    async fn start(&mut self) -> Result<(), UpdateError> {
        if std::mem::replace(&mut self.is_started, true) {
            return Ok(());
        }
        self.updates.start().await
    }

    async fn line(&mut self, line: &[u8]) -> Result<(), BoxError> {
        if line.trim_ascii().is_empty() || self.has_ended {
            return Ok(());
        }
        let fault = match Line::parse(line) {
            Ok(Some(parsed)) => return self.apply(parsed).await,
            Ok(None) if self.strict => format!("expected {EXPECTED}"),
            Ok(None) => {
                self.stray.stray(line, EXPECTED);
                return Ok(());
            }
            Err(fault) => fault,
        };
        let reason = format!("an invalid line: {fault}");
        Err(invalid_output(self.context.task_id(), &reason, line).into())
    }

    async fn apply(&mut self, parsed: Line) -> Result<(), BoxError> {
        if !matches!(parsed, Line::Message(_) | Line::History(_)) {
            self.start().await?;
        }
        match parsed {
            Line::Output(parts) => {
                let chunk = Artifact { parts, ..Artifact::new("output", "").with_id(OUTPUT_ID) };
                match std::mem::replace(&mut self.has_output, true) {
                    false => self.updates.begin(chunk).await?,
                    true => self.updates.append(chunk).await?,
                }
            }
            Line::Artifact { artifact, append, last_chunk } => match (append, last_chunk) {
                (false, false) => self.updates.begin(artifact).await?,
                (false, true) => self.updates.artifact(artifact).await?,
                (true, false) => self.updates.append(artifact).await?,
                (true, true) => self.updates.append_last(artifact).await?,
            },
            Line::Status(TaskState::InputRequired, question) => {
                let answer = self.ask(question).await?;
                self.tell(&answer).await?;
            }
            Line::Status(state, message) => {
                self.updates.status(state, message).await?;
                if state.is_terminal() {
                    self.end();
                }
            }
            Line::Message(message) => {
                self.updates.reply(Message { role: Role::Agent.into(), ..message }).await?;
                self.end();
            }
            Line::History(count) => {
                let tasks = self.history(count).await?;
                self.tell(&BTreeMap::from([("tasks", tasks)])).await?;
            }
        }
        Ok(())
    }

    /// No question can come any more.
    fn end(&mut self) {
        self.has_ended = true;
        self.inputs = None;
    }

    /// Asks for input, without a slot until the answer is there.
    async fn ask(&mut self, question: impl Into<StatusMessage>) -> Result<Message, BoxError> {
        let caller = self.context.call().caller.subject().unwrap_or_default();
        let (place, expiry) = self.shared.waiting.enter(caller);
        self.slot = None;
        let counted = Counted::command("asking");
        let answer = self.updates.ask_until(question, expiry).await?;
        drop(counted);
        place.answered();
        let slot = self.shared.turn(caller);
        self.slot = Some(self.context.wait_for(slot).await);
        Ok(answer)
    }
}
