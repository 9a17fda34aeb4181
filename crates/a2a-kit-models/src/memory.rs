//! What an agent remembers of a conversation: earlier tasks, within a budget of tokens.

use std::sync::Arc;

use a2a_core::{Part, Task};
use a2a_kit_operations::{BoxError, RequestContext, TaskUpdater};
use serde::{Deserialize, Serialize};

use crate::{
    exchange::{Exchanges, state, tokens},
    model::Turn,
};

/// Maximum size of the earlier tasks that are read, in bytes as protobuf.
const MAX_BYTES: usize = 4 << 20;
/// A message is refused from this multiple of the budget on.
const MESSAGE_BUDGETS: u64 = 8;

/// What a [`ModelAgent`](crate::ModelAgent) remembers of a conversation.
///
/// Nothing but tasks is kept, so an agent remembers the same on each node, and after a restart. The
/// newest exchanges are remembered, as many as the budget allows, of at most 100 tasks and 4 MiB.
/// Files of all but the newest exchange are only named.
///
/// Tokens are estimated: 3 bytes of text are one, an image is 1,600, and 30 bytes of another file
/// are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    of_context: bool,
    tokens: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self::context()
    }
}

impl Memory {
    /// Remembers the caller's earlier tasks in the same context; the default.
    pub const fn context() -> Self {
        Self { of_context: true, tokens: 32_000 }
    }

    /// Remembers only what was said in the same task.
    pub const fn task() -> Self {
        Self { of_context: false, ..Self::context() }
    }

    /// Sets the budget, in tokens, beside the message itself. Default: 32,000. A message of more than
    /// eight budgets is rejected.
    #[must_use]
    pub const fn with_tokens(mut self, tokens: u32) -> Self {
        self.tokens = tokens as u64;
        self
    }

    /// Whether a message is short enough.
    pub(crate) fn has_room_for(self, message: &[Part]) -> bool {
        message.iter().map(tokens).sum::<u64>() <= self.tokens.saturating_mul(MESSAGE_BUDGETS)
    }

    /// What was said before the message of a run, exchange by exchange, from old to new. Which tasks
    /// that are is recorded, so that a rerun remembers the same.
    pub(crate) async fn recall(
        self,
        context: &RequestContext,
        updates: &TaskUpdater,
    ) -> Result<Vec<Vec<Turn>>, BoxError> {
        let task = context.task();
        let id = &context.message().message_id;
        let end = task.history.iter().rposition(|message| message.message_id == *id);
        let own = Exchanges::of_messages(&task.history[..end.unwrap_or(0)]);
        if !self.of_context {
            return Ok(self.select([own]));
        }
        let listed = context.tasks_in_context_within(MAX_BYTES).await?;
        // An earlier run that recorded something, but not this, found no tasks.
        let repeats = context.is_replay();
        if listed.is_empty() && !repeats {
            return Ok(self.select([own]));
        }
        let now = if repeats { Vec::new() } else { listed.iter().map(Known::new).collect() };
        let known: Vec<Known> = updates.once("history", async { Ok::<_, BoxError>(now) }).await?;
        let earlier = known.iter().filter_map(|known| {
            let task = listed.iter().find(|task| task.id == known.id)?;
            Some(Exchanges::of_task(task, known.finished))
        });
        Ok(self.select([own].into_iter().chain(earlier)))
    }

    /// The newest exchanges within the budget, of tasks from new to old. A newest one that is too
    /// long alone is cut.
    fn select(self, tasks: impl IntoIterator<Item = Exchanges>) -> Vec<Vec<Turn>> {
        let mut left = self.tokens;
        let mut selected = Vec::new();
        for mut exchange in tasks.into_iter().flat_map(|task| task.0.into_iter().rev()) {
            let is_newest = selected.is_empty();
            if !is_newest || exchange.is_refused {
                exchange.name_files();
            }
            let is_too_long = exchange.tokens() > left;
            if is_newest && left > 0 {
                exchange.shorten_to(left);
            }
            let Some(rest) = left.checked_sub(exchange.tokens()) else { break };
            left = if is_too_long { 0 } else { rest };
            selected.push(exchange.into_turns());
        }
        selected.reverse();
        selected
    }
}

/// A task in a recorded history.
#[derive(Debug, Serialize, Deserialize)]
struct Known {
    id: String,
    /// Whether it had ended.
    finished: bool,
}

impl Known {
    fn new(task: &Arc<Task>) -> Self {
        Self { id: task.id.clone(), finished: state(task).is_terminal() }
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Message, TaskState,
        v1::{Artifact, TaskStatus},
    };
    use serde_json::json;

    use super::*;
    use crate::model::Answer;
    use a2a_kit_operations::extension::ModelEventsExtension;

    fn task(id: &str, state: TaskState, history: Vec<Message>, answer: &str) -> Task {
        let artifact = Artifact::new("answer", answer).with_id("answer");
        Task {
            id: id.to_owned(),
            status: Some(TaskStatus { state: state.into(), ..TaskStatus::default() }),
            artifacts: if answer.is_empty() { Vec::new() } else { vec![artifact] },
            history,
            ..Task::default()
        }
    }

    fn done(question: &str, answer: &str) -> Exchanges {
        let history = vec![Message::user(question)];
        Exchanges::of_task(&task("t", TaskState::Completed, history, answer), true)
    }

    /// The turns as lines.
    fn show(exchanges: &[Vec<Turn>]) -> Vec<String> {
        let show = |turn: &Turn| match turn {
            Turn::User(parts) => {
                let texts = parts.iter().map(|part| part.as_text().unwrap_or("(file)"));
                format!("user: {}", texts.collect::<Vec<_>>().join("+"))
            }
            Turn::Assistant(answer) => match answer.as_slice() {
                [Answer::Text(text)] => format!("assistant: {text}"),
                other => format!("{other:?}"),
            },
            Turn::ToolResults(results) => format!("{results:?}"),
        };
        exchanges.iter().flatten().map(show).collect()
    }

    #[test]
    fn answer_is_text_data_and_names_of_files_without_artifacts_of_events() {
        let history = vec![Message::user("Report").with_part(Part::data(json!({"year": 2026})))];
        let mut task = task("t", TaskState::Completed, history, "Here ");
        let answer = &mut task.artifacts[0];
        answer.parts.push(Part::text("it is"));
        answer.parts.push(Part::data(json!({"sum": 3})));
        let csv = Part::raw(vec![b'x'; 2_000]).with_filename("a.csv").with_media_type("text/csv");
        answer.parts.push(csv);
        let mut thinking = Artifact::new("thinking", "hm").with_id("thinking");
        ModelEventsExtension::mark(&mut thinking, "thinking");
        task.artifacts.push(thinking);
        let turns = Memory::context().select([Exchanges::of_task(&task, true)]);
        let expected = [
            "user: Report+```json\n{\n  \"year\": 2026\n}\n```",
            "assistant: Here it is\n\n```json\n{\n  \"sum\": 3\n}\n```\n\n[file a.csv, text/csv, 2 KiB]",
        ];
        assert_eq!(show(&turns), expected);
    }

    #[test]
    fn end_of_a_task_decides_what_is_remembered_of_it() {
        let cases = [
            (TaskState::Completed, "four", true, "assistant: four"),
            (TaskState::Completed, "", true, "assistant: "),
            (TaskState::Failed, "fo", true, "assistant: fo\n\n[the answer was not finished]"),
            (TaskState::Canceled, "", true, "assistant: [the answer was not finished]"),
            (TaskState::Rejected, "", true, "assistant: [the answer was not finished]"),
            (TaskState::Working, "fo", false, "assistant: "),
            // It has ended since the first run of a task that is run again.
            (TaskState::Completed, "four", false, "assistant: "),
        ];
        for (state, answer, is_finished, expected) in cases {
            let task = task("t", state, vec![Message::user("2 + 2?")], answer);
            let turns = Memory::context().select([Exchanges::of_task(&task, is_finished)]);
            let mut lines = show(&turns);
            if lines.len() == 1 {
                lines.push("assistant: ".to_owned());
            }
            assert_eq!(lines, ["user: 2 + 2?", expected], "{state:?}, {is_finished}");
        }
    }

    #[test]
    fn questions_of_the_agent_and_their_answers_keep_their_order() {
        let history =
            vec![Message::user("Book a trip"), Message::agent("Where to?"), Message::user("Oslo")];
        let task = task("t", TaskState::Completed, history, "Booked");
        let turns = Memory::context().select([Exchanges::of_task(&task, true)]);
        let expected =
            ["user: Book a trip", "assistant: Where to?", "user: Oslo", "assistant: Booked"];
        assert_eq!(show(&turns), expected);
    }

    #[test]
    fn whole_exchanges_are_left_out_from_the_oldest_on() {
        // Each has 20 tokens.
        let thirty = |text: &str| text.repeat(30);
        let tasks = || ["c", "b", "a"].map(|one| done(&thirty(one), &thirty(one)));
        for (budget, expected) in [(60, "abc"), (59, "bc"), (20, "c"), (0, "")] {
            let turns = Memory::context().with_tokens(budget).select(tasks());
            let firsts: String = show(&turns).iter().step_by(2).map(|line| &line[6..7]).collect();
            assert_eq!(firsts, expected, "{budget} tokens");
        }
    }

    #[test]
    fn newest_exchange_is_cut_in_the_middle_of_its_longest_text() {
        let memory = Memory::context().with_tokens(100);
        let long = format!("{}€{}", "a".repeat(500), "z".repeat(500));
        let turns = memory.select([done("Write", &long), done("older", "x")]);
        let lines = show(&turns);
        assert_eq!(lines.len(), 2);
        let answer = lines[1].strip_prefix("assistant: ").expect("an answer");
        assert!(answer.starts_with("aaa") && answer.ends_with("zzz"), "{answer}");
        let (kept, rest) = answer.split_once("[… ").expect("a marker");
        let (left_out, rest) = rest.split_once(" characters left out …]").expect("a marker");
        let left_out: usize = left_out.parse().expect("a number");
        assert_eq!(kept.len() + left_out + rest.len(), 1_001);
        assert!(answer.len() <= 300 && answer.len() > 200, "{}", answer.len());
    }

    #[test]
    fn files_are_kept_in_the_newest_exchange_unless_it_was_refused() {
        let image = || Part::raw(vec![0; 10]).with_filename("a.png").with_media_type("image/png");
        let asked = |state| {
            let history = vec![Message::user("See").with_part(image())];
            Exchanges::of_task(&task("t", state, history, "Yes"), true)
        };
        let file = |turns: &[Vec<Turn>]| {
            let lines = show(turns);
            lines.iter().filter(|line| line.starts_with("user")).cloned().collect::<Vec<_>>()
        };
        let (kept, named) = ("user: See+(file)", "user: See+[file a.png, image/png, 10 bytes]");
        let completed = || asked(TaskState::Completed);
        let memory = Memory::context();
        assert_eq!(file(&memory.select([completed(), completed()])), [named, kept]);
        assert_eq!(file(&memory.select([asked(TaskState::Rejected)])), [named]);
        // An image has 1,600 tokens, its name 12.
        assert_eq!(file(&memory.with_tokens(1_000).select([completed()])), [named]);
    }

    #[test]
    fn message_of_more_than_eight_budgets_is_too_long() {
        let memory = Memory::context().with_tokens(10);
        assert!(memory.has_room_for(&[Part::text("x".repeat(240))]));
        assert!(!memory.has_room_for(&[Part::text("x".repeat(241))]));
        let pdf = |len: usize| Part::raw(vec![0; len]).with_media_type("application/pdf");
        assert!(memory.has_room_for(&[pdf(2_400)]) && !memory.has_room_for(&[pdf(2_401)]));
    }
}
