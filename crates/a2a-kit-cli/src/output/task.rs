//! Tasks, messages and lists of tasks as text.

use std::borrow::Cow;

use a2a_core::{
    Artifact, Message, Role, Task, TaskState,
    v1::{ListTasksResponse, TaskStatus},
};

use super::text::Text;

/// How much of a task is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail<'a> {
    /// Every part, metadata and history.
    pub(crate) verbose: bool,
    /// The messages of the history.
    pub(crate) history: bool,
    /// The flags that name the agent, for the command that continues the task.
    pub(crate) agent: Option<&'a str>,
}

/// Writes a page of tasks.
pub(crate) fn task_list(text: &mut Text, list: &ListTasksResponse, detail: Detail<'_>) {
    for task in &list.tasks {
        ids(text, &task.id, &task.context_id, task.state());
        timestamp(text, task.status.as_ref());
        for one in &task.artifacts {
            artifact(text, one, detail.verbose);
        }
        history(text, task, detail);
        text.empty_line();
    }
    text.line_if_any("Next page token", &list.next_page_token);
    text.line("Total", &list.total_size.to_string());
}

/// Writes the three lines that every task command prints.
pub(crate) fn ids(text: &mut Text, task_id: &str, context_id: &str, state: TaskState) {
    text.line("Task ID", task_id);
    text.line("Context ID", context_id);
    text.state("State", state);
}

/// Writes the name and the id of an artifact.
pub(super) fn artifact_head(text: &mut Text, artifact: &Artifact) {
    let name = if artifact.name.is_empty() { &artifact.artifact_id } else { &artifact.name };
    text.line("Artifact", name);
    text.line("Artifact ID", &artifact.artifact_id);
}

/// Writes how to continue an interrupted task.
pub(super) fn resume(text: &mut Text, task_id: &str, state: TaskState, agent: Option<&str>) {
    if state.is_interrupted() {
        let agent = agent.unwrap_or("-a <agent>");
        let command = format!("a2a send {agent} --task-id {} \"<reply>\"", quoted(task_id));
        text.line("Resume with", &command);
    }
}

/// Quotes a word for a shell, as ids come from agents.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@%+,[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

/// Writes a task.
pub(crate) fn task(text: &mut Text, task: &Task, detail: Detail<'_>) {
    ids(text, &task.id, &task.context_id, task.state());
    if detail.verbose {
        timestamp(text, task.status.as_ref());
    }
    if let Some(message) = task.status_message() {
        text.parts(&message.parts);
    }
    for one in &task.artifacts {
        artifact(text, one, detail.verbose);
    }
    history(text, task, detail);
    if detail.verbose
        && let Some(metadata) = &task.metadata
    {
        text.json("Metadata", metadata);
    }
    resume(text, &task.id, task.state(), detail.agent);
}

/// Writes an artifact. The chunks of its texts and files are joined, unless every part is shown.
pub(super) fn artifact(text: &mut Text, artifact: &Artifact, verbose: bool) {
    artifact_head(text, artifact);
    if verbose {
        text.parts(&artifact.parts);
    } else {
        text.joined_parts(&artifact.parts);
    }
    if verbose && let Some(metadata) = &artifact.metadata {
        text.json("Metadata", metadata);
    }
}

fn history(text: &mut Text, task: &Task, detail: Detail<'_>) {
    if detail.verbose || detail.history {
        for one in &task.history {
            message(text, one, detail.verbose);
        }
    }
}

/// Writes a message.
pub(crate) fn message(text: &mut Text, message: &Message, verbose: bool) {
    text.line("Message ID", &message.message_id);
    text.line_if_any("Task ID", &message.task_id);
    text.line_if_any("Context ID", &message.context_id);
    text.line("Role", role_name(message.role()));
    text.parts(&message.parts);
    if verbose && let Some(metadata) = &message.metadata {
        text.json("Metadata", metadata);
    }
}

fn timestamp(text: &mut Text, status: Option<&TaskStatus>) {
    if let Some(time) = status.and_then(|status| status.timestamp) {
        text.time("Timestamp", time);
    }
}

fn role_name(role: Role) -> &'static str {
    let name = role.as_str_name();
    name.strip_prefix("ROLE_").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_is_formatted_as_documented() {
        let done = Task {
            id: "t-71".into(),
            context_id: "c-9".into(),
            status: Some(TaskStatus::now(TaskState::Completed, None)),
            artifacts: vec![Artifact::new("answer", "31").with_id("a-1")],
            ..Task::default()
        };
        let detail = Detail { verbose: false, history: false, agent: Some("-a localhost:8080") };
        assert_eq!(
            Text::of(|text| task(text, &done, detail)).plain(),
            "Task ID: t-71\nContext ID: c-9\nState: COMPLETED\n\
             Artifact: answer\nArtifact ID: a-1\nText:\n31\n\n"
        );
    }

    #[test]
    fn id_is_quoted_in_the_command_to_paste() {
        assert_eq!(quoted("01a1-f.x"), "01a1-f.x");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
        assert_eq!(quoted("a'; reboot #"), "'a'\\''; reboot #'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn interrupted_task_shows_how_to_continue() {
        let status = TaskStatus::now(TaskState::InputRequired, Some(Message::agent("Which?")));
        let waiting = Task { id: "t".into(), status: Some(status), ..Task::default() };
        let detail = Detail { verbose: false, history: false, agent: Some("-a localhost:8080") };
        assert_eq!(
            Text::of(|text| task(text, &waiting, detail)).plain(),
            "Task ID: t\nContext ID: \nState: INPUT_REQUIRED\nText:\nWhich?\n\n\
             Resume with: a2a send -a localhost:8080 --task-id t \"<reply>\"\n"
        );
    }
}
