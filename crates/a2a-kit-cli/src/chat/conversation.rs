//! The loop of a conversation.

use a2a_core::{Message, Part, Role, Task, TaskState, Validate as _, v1::SendMessageRequest};
use a2a_kit_client::{SendOutcome, WaitOptions};
use anstyle::Style;

use super::{
    input::{Input, TerminalMode},
    line_editor::Line,
    slash_command::{COMMANDS, SlashCommand, message_text},
    transcript::Transcript,
    turn::{Turn, TurnEnd, interrupted, piped_turn},
};
use crate::{
    agent::RemoteAgent,
    command::{PartFlag, parts},
    failure::{Code, Failure},
    output::{self, escaped, quoted, style},
    settings::Settings,
    signal::StopSignals,
};

/// A conversation: each line is a message, in the context of the ones before.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    agent: RemoteAgent,
    settings: &'a Settings,
    options: WaitOptions,
    /// The maximum size of an attached file, in bytes.
    max_inline: usize,
    /// The context of the next message.
    context_id: Option<String>,
    /// The task of the next message: one that is interrupted, or the one of `--task-id`.
    task_id: Option<String>,
    /// The last task.
    last: Option<(String, TaskState)>,
    attachments: Vec<Part>,
    transcript: Transcript,
}

/// Whether the conversation goes on.
enum Next {
    Continue,
    End,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(
        agent: RemoteAgent,
        settings: &'a Settings,
        options: WaitOptions,
        max_inline: usize,
    ) -> Self {
        Self {
            agent,
            settings,
            options,
            max_inline,
            context_id: settings.context_id.clone(),
            task_id: settings.task_id.clone(),
            last: None,
            attachments: Vec::new(),
            transcript: Transcript::new(settings.output),
        }
    }

    /// Runs the conversation until its input ends.
    /// Errors: on a terminal, failures are printed and the conversation goes on; over pipes, the
    /// first one ends it.
    pub(crate) async fn run(mut self, mut input: Input) -> Result<(), Failure> {
        let result = if input.is_terminal() {
            self.on_terminal(&mut input).await
        } else {
            self.over_pipes(&mut input).await
        };
        if !matches!(&result, Err(failure) if failure.code == Code::OutputClosed) {
            self.show_ids()?;
        }
        result
    }

    async fn over_pipes(&mut self, input: &mut Input) -> Result<(), Failure> {
        loop {
            let line = tokio::select! {
                line = input.next("") => line?,
                () = a2a_kit_http::shutdown_signal() => return Err(interrupted()),
            };
            let Line::Text(line) = line else { return Ok(()) };
            let next = match SlashCommand::parse(&line)? {
                Some(command) => self.command(command).await?,
                None if line.trim().is_empty() => Next::Continue,
                None => {
                    let request = self.request(message_text(&line))?;
                    let outcome =
                        piped_turn(&self.agent, request, &self.options, self.settings).await?;
                    self.attachments.clear();
                    self.record(&outcome);
                    Next::Continue
                }
            };
            if matches!(next, Next::End) {
                return Ok(());
            }
        }
    }

    async fn on_terminal(&mut self, input: &mut Input) -> Result<(), Failure> {
        let mut signals = StopSignals::listen()
            .map_err(|error| Failure::internal(format!("failed to listen for signals: {error}")))?;
        let _restored = TerminalMode::hold_input();
        self.greet()?;
        let mut was_interrupted = false;
        loop {
            let prompt = if self.task_id.is_some() { "reply> " } else { "> " };
            let line = tokio::select! {
                line = input.next(prompt) => line?,
                _ = signals.next() => {
                    // The editor had switched this on.
                    self.settings.output.write(b"\x1b[?2004l\r\n")?;
                    return Err(interrupted());
                }
            };
            let line = match line {
                Line::Text(line) => line,
                Line::End => return Ok(()),
                Line::Interrupted if was_interrupted => return Ok(()),
                Line::Interrupted => {
                    was_interrupted = true;
                    self.settings.output.note("press Ctrl-C again, or Ctrl-D, to leave");
                    continue;
                }
            };
            was_interrupted = false;
            let next = match SlashCommand::parse(&line) {
                Ok(Some(command)) => self.command(command).await,
                Ok(None) if line.trim().is_empty() => Ok(Next::Continue),
                Ok(None) => self.turn(&line, &mut signals).await,
                Err(failure) => Err(failure),
            };
            match next {
                Ok(Next::Continue) => {}
                Ok(Next::End) => return Ok(()),
                Err(failure) if matches!(failure.code, Code::OutputClosed | Code::Interrupted) => {
                    return Err(failure);
                }
                Err(failure) => self.settings.output.failure(&failure),
            }
        }
    }

    /// Sends a message and prints its answer.
    async fn turn(&mut self, line: &str, signals: &mut StopSignals) -> Result<Next, Failure> {
        let request = self.request(message_text(line))?;
        let turn = Turn {
            agent: &self.agent,
            settings: self.settings,
            options: &self.options,
            signals,
            transcript: &mut self.transcript,
        };
        match turn.run(request).await? {
            TurnEnd::Outcome(outcome) => {
                self.attachments.clear();
                self.record(&outcome);
                self.transcript.end(outcome.task())?;
                Ok(Next::Continue)
            }
            TurnEnd::Abandoned => {
                self.transcript.end_text()?;
                self.settings.output.note("interrupted: the agent may have received the message");
                Ok(Next::Continue)
            }
            TurnEnd::Failed(failure, task) => {
                self.transcript.end_text()?;
                if let Some(task) = task {
                    self.record(&SendOutcome::Task(task));
                }
                Err(failure)
            }
        }
    }

    async fn command(&mut self, command: SlashCommand) -> Result<Next, Failure> {
        match command {
            SlashCommand::New => {
                self.context_id = None;
                self.task_id = None;
                self.last = None;
                self.attachments.clear();
                self.settings.output.note("the next message starts a new context");
            }
            SlashCommand::Attach(place) => self.attach(place)?,
            SlashCommand::Cancel | SlashCommand::Task => {
                let id = self.current_task()?;
                let task = match command {
                    SlashCommand::Cancel => self.agent.client.cancel(id).await,
                    _ => self.agent.client.get(id).await,
                };
                let task = task.map_err(|error| self.agent.failure(&error))?;
                self.record_task(&task);
                let detail = self.agent.detail(false);
                self.settings.output.result(&*task, |text| output::task(text, &task, detail))?;
            }
            SlashCommand::Card => self.show_card()?,
            SlashCommand::Raw => {
                self.transcript.is_raw = !self.transcript.is_raw;
                let form = if self.transcript.is_raw { "JSON" } else { "text" };
                self.settings.output.note(&format!("showing events as {form}"));
            }
            SlashCommand::Help => self.help()?,
            SlashCommand::Quit => return Ok(Next::End),
        }
        Ok(Next::Continue)
    }

    fn attach(&mut self, place: String) -> Result<(), Failure> {
        let added = parts(vec![PartFlag::File(place)], self.max_inline)?;
        if !self.settings.output.is_json() {
            self.settings.output.text(|text| text.parts(&added))?;
        }
        self.attachments.extend(added);
        Ok(())
    }

    /// The request of a message with the attachments.
    fn request(&self, text: &str) -> Result<SendMessageRequest, Failure> {
        let mut parts = vec![Part::text(text)];
        parts.extend(self.attachments.iter().cloned());
        let mut message = Message::new(Role::User, parts);
        message.context_id = self.context_id.clone().unwrap_or_default();
        message.task_id = self.task_id.clone().unwrap_or_default();
        let request = SendMessageRequest {
            message: Some(message),
            metadata: self.settings.metadata.clone(),
            ..SendMessageRequest::default()
        };
        request.validate().map_err(|error| Failure::usage(format!("invalid request: {error}")))?;
        Ok(request)
    }

    /// Keeps the ids for the next message: the context always, the task while it is interrupted.
    fn record(&mut self, outcome: &SendOutcome) {
        if !outcome.context_id().is_empty() {
            self.context_id = Some(outcome.context_id().to_owned());
        }
        match outcome {
            SendOutcome::Task(task) => self.record_task(task),
            SendOutcome::Message(_) => self.task_id = None,
        }
    }

    fn record_task(&mut self, task: &Task) {
        let state = task.state();
        self.task_id = state.is_interrupted().then(|| task.id.clone());
        self.last = Some((task.id.clone(), state));
    }

    fn current_task(&self) -> Result<String, Failure> {
        let last = self.last.as_ref().map(|(id, _)| id);
        self.task_id.as_ref().or(last).cloned().ok_or_else(|| {
            Failure::usage("no task in this conversation yet").with_hint("send a message first")
        })
    }

    fn show_card(&self) -> Result<(), Failure> {
        let client = &self.agent.client;
        let card = client.card();
        self.settings.output.result(&*card, |text| {
            output::card(text, &card, client.interface().ok_or("there is none"), "not checked");
        })
    }

    fn greet(&self) -> Result<(), Failure> {
        let has_colors = self.settings.output.terminal.has_colors();
        let client = &self.agent.client;
        let mut greeting = String::new();
        style::paint(&mut greeting, style::HEADING, &escaped(&client.card().name), has_colors);
        if let Some(interface) = client.interface() {
            let place = format!(" ({} {})", interface.protocol_binding, interface.url);
            style::paint(&mut greeting, Style::new().dimmed(), &escaped(&place), has_colors);
        }
        greeting.push('\n');
        let hint = "Type a message, or /help for commands. Ctrl-D leaves.";
        style::paint(&mut greeting, style::NOTE, hint, has_colors);
        greeting.push_str("\n\n");
        self.settings.output.write(greeting.as_bytes())
    }

    fn help(&self) -> Result<(), Failure> {
        if self.settings.output.is_json() {
            return Ok(());
        }
        let mut help = String::new();
        for (name, argument, meaning) in COMMANDS {
            help.push_str(&format!("{:<24} {meaning}\n", format!("{name}{argument}")));
        }
        for (key, meaning) in [
            ("Ctrl-J, Alt-Enter", "Start a new line of the message"),
            ("Ctrl-C", "Cancel the task while the agent works; again: leave"),
            ("Ctrl-D", "Leave"),
        ] {
            help.push_str(&format!("{key:<24} {meaning}\n"));
        }
        self.settings.output.write(help.as_bytes())
    }

    /// Prints the ids, and how to go on.
    fn show_ids(&self) -> Result<(), Failure> {
        if self.settings.output.is_json() || (self.context_id.is_none() && self.last.is_none()) {
            return Ok(());
        }
        let context_id = self.context_id.as_deref().unwrap_or_default();
        let mut command = format!("a2a chat {}", self.agent.flags);
        if !context_id.is_empty() {
            command.push_str(&format!(" --context-id {}", quoted(context_id)));
        }
        if let Some(task_id) = &self.task_id {
            command.push_str(&format!(" --task-id {}", quoted(task_id)));
        }
        self.settings.output.text(|text| {
            if let Some((id, _)) = &self.last {
                text.line("Task ID", id);
            }
            text.line_if_any("Context ID", context_id);
            if let Some((_, state)) = &self.last {
                text.state("State", *state);
            }
            text.line("Resume with", &command);
        })
    }
}
