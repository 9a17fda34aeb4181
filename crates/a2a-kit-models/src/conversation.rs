//! The conversation of a run: what was said before, the message, and the steps of the run.

use a2a_core::Part;

use crate::{
    exchange::{tokens, tokens_of_text},
    model::{Answer, ToolOutcome, Turn},
};

/// What a model is asked to continue.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// What was said before, exchange by exchange, from old to new.
    earlier: Vec<Vec<Turn>>,
    message: Vec<Part>,
    steps: Vec<Step>,
    was_shortened: bool,
    /// Whether the model may call tools.
    pub(crate) offers_tools: bool,
}

/// A completed call, with the results of its tools.
#[derive(Debug)]
struct Step {
    provider: String,
    answer: Vec<Answer>,
    results: Vec<ToolOutcome>,
}

impl Conversation {
    pub(crate) fn new(earlier: Vec<Vec<Turn>>, message: Vec<Part>) -> Self {
        Self { earlier, message, steps: Vec::new(), was_shortened: false, offers_tools: true }
    }

    /// Adds a completed call, with the results of its tools.
    pub(crate) fn add(&mut self, provider: String, answer: Vec<Answer>, results: Vec<ToolOutcome>) {
        self.steps.push(Step { provider, answer, results });
    }

    /// Leaves out the older half of what was said before, once. Returns whether there was any.
    pub(crate) fn shorten(&mut self) -> bool {
        if self.was_shortened || self.earlier.is_empty() {
            return false;
        }
        self.was_shortened = true;
        self.earlier.drain(..self.earlier.len().div_ceil(2));
        true
    }

    /// The number of tokens, as an estimate.
    pub(crate) fn tokens(&self) -> u64 {
        let of_answer = |piece: &Answer| match piece {
            Answer::Text(text) => text.len(),
            Answer::ToolCall(call) => call.arguments.to_string().len(),
            Answer::Opaque(value) => value.to_string().len(),
        };
        let of_answer = |answer: &[Answer]| tokens_of_text(answer.iter().map(of_answer).sum());
        let of_results = |results: &[ToolOutcome]| {
            tokens_of_text(results.iter().map(|result| result.content.len()).sum())
        };
        let earlier = self.earlier.iter().flatten().map(|turn| match turn {
            Turn::User(parts) => parts.iter().map(tokens).sum(),
            Turn::Assistant(answer) => of_answer(answer),
            Turn::ToolResults(results) => of_results(results),
        });
        let steps = self.steps.iter().map(|one| of_answer(&one.answer) + of_results(&one.results));
        earlier.chain(steps).chain(self.message.iter().map(tokens)).sum()
    }

    /// The turns for a model of a provider: opaque parts of others are left out, and adjacent turns
    /// of a role are one.
    pub(crate) fn turns(&self, provider: &str) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        let message = [Turn::User(self.message.clone())];
        let steps = self.steps.iter().flat_map(|step| {
            let is_understood = step.provider == provider;
            let answer = step.answer.iter();
            let answer = answer.filter(|one| is_understood || !matches!(one, Answer::Opaque(_)));
            let results = Turn::ToolResults(step.results.clone());
            [Turn::Assistant(answer.cloned().collect()), results]
        });
        for turn in self.earlier.iter().flatten().cloned().chain(message).chain(steps) {
            match (turns.last_mut(), turn) {
                (Some(Turn::User(before)), Turn::User(parts)) => before.extend(parts),
                (Some(Turn::Assistant(before)), Turn::Assistant(answer)) => before.extend(answer),
                (_, turn) => turns.push(turn),
            }
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::ToolCall;

    fn user(text: &str) -> Turn {
        Turn::User(vec![Part::text(text)])
    }

    fn assistant(text: &str) -> Turn {
        Turn::Assistant(vec![Answer::Text(text.to_owned())])
    }

    fn show(turns: &[Turn]) -> String {
        let show = |turn: &Turn| match turn {
            Turn::User(parts) => {
                let texts: Vec<_> = parts.iter().filter_map(Part::as_text).collect();
                format!("user: {}", texts.join("+"))
            }
            Turn::Assistant(answer) => format!("assistant: {}", answer.len()),
            Turn::ToolResults(results) => format!("results: {}", results.len()),
        };
        turns.iter().map(show).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn adjacent_turns_of_a_role_become_one_and_keep_their_order() {
        let earlier = vec![vec![user("a"), assistant("b"), user("c")], vec![user("d")]];
        let conversation = Conversation::new(earlier, vec![Part::text("e"), Part::text("f")]);
        assert_eq!(show(&conversation.turns("p")), "user: a, assistant: 1, user: c+d+e+f");
    }

    #[test]
    fn older_half_of_the_history_is_left_out_once() {
        let earlier = ["a", "b", "c"].map(|text| vec![user(text), assistant("x")]).to_vec();
        let mut conversation = Conversation::new(earlier, vec![Part::text("d")]);
        assert!(conversation.shorten());
        assert_eq!(show(&conversation.turns("p")), "user: c, assistant: 1, user: d");
        assert!(!conversation.shorten());
        assert!(!Conversation::new(Vec::new(), Vec::new()).shorten());
    }

    #[test]
    fn opaque_parts_are_only_for_models_of_their_provider() {
        let mut conversation = Conversation::new(Vec::new(), vec![Part::text("a")]);
        let call = ToolCall { id: "1".to_owned(), name: "t".to_owned(), arguments: json!({}) };
        let answer = vec![Answer::Opaque(json!("signature")), Answer::ToolCall(call)];
        let result = ToolOutcome {
            id: "1".to_owned(),
            name: "t".to_owned(),
            content: "r".to_owned(),
            is_error: false,
        };
        conversation.add("one".to_owned(), answer, vec![result]);
        assert_eq!(show(&conversation.turns("one")), "user: a, assistant: 2, results: 1");
        assert_eq!(show(&conversation.turns("two")), "user: a, assistant: 1, results: 1");
    }
}
