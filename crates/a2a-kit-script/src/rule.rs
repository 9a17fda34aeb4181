//! Which rule a message is handled by.

use a2a_core::{
    Message, Part, Role, Task,
    well_known::{Struct, Value},
};
use serde::Deserialize;

use crate::{fault::Fault, step::Step};

/// What a script does with the messages that match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rule {
    /// What `follows` of other rules refers to.
    pub(crate) id: Option<String>,
    pub(crate) when: Conditions,
    pub(crate) fault: Option<Fault>,
    pub(crate) steps: Vec<Step>,
}

/// The rules of a script, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) all: Vec<Rule>,
    /// Handles the messages that no rule matches.
    pub(crate) default: Rule,
}

/// What a message must be like to match; all conditions have to hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conditions {
    message_id: Option<Pattern>,
    /// The name at the start of the first text part.
    name: Option<Pattern>,
    /// The first word of the text.
    word: Option<Pattern>,
    /// The text without surrounding white space, in any case.
    text: Option<Pattern>,
    /// Members of a data part.
    data: Option<toml::Table>,
    /// Members of the metadata of the message.
    metadata: Option<toml::Table>,
    /// The id of the rule that handled the previous message of the task.
    pub(crate) follows: Option<String>,
}

/// A text in which `*` stands for any characters.
#[derive(Clone, Debug, Deserialize)]
struct Pattern(String);

impl Rules {
    /// Chooses the steps for the last message of a task: those behind an open question, those of
    /// the first rule that matches, or those of the rule that the task began with.
    pub(crate) fn choose(&self, task: &Task, message: &Message) -> &[Step] {
        let earlier = task.history.iter().filter(|one| one.role() == Role::User);
        let count = earlier.clone().count().saturating_sub(1);
        let mut first: Option<&Rule> = None;
        // The rule of the previous message, and how many of its questions are answered.
        let mut previous: Option<(&Rule, usize)> = None;
        for message in earlier.take(count).chain([message]) {
            let next = match previous {
                Some((rule, answers)) if answers < rule.questions() => (rule, answers + 1),
                _ => {
                    let found = self.matching(message, previous.map(|(rule, _)| rule));
                    (found.or(first).unwrap_or(&self.default), 0)
                }
            };
            first.get_or_insert(next.0);
            previous = Some(next);
        }
        previous.map_or(&[], |(rule, answers)| rule.steps_after(answers))
    }

    /// Returns the fault of the response to a message. The task is not known where responses are
    /// written, so rules with `follows` do not match.
    pub(crate) fn fault(&self, message: &Message) -> Option<&Fault> {
        self.matching(message, None).unwrap_or(&self.default).fault.as_ref()
    }

    pub(crate) fn have_faults(&self) -> bool {
        self.all.iter().chain([&self.default]).any(|rule| rule.fault.is_some())
    }

    fn matching(&self, message: &Message, previous: Option<&Rule>) -> Option<&Rule> {
        let facts = Facts { message, text: message.text(), name: name(message), previous };
        self.all.iter().find(|rule| rule.when.hold(&facts))
    }
}

/// What conditions are compared with.
struct Facts<'a> {
    message: &'a Message,
    text: String,
    name: Option<String>,
    previous: Option<&'a Rule>,
}

impl Conditions {
    fn hold(&self, facts: &Facts<'_>) -> bool {
        let Facts { message, text, name, previous } = facts;
        let matches = |pattern: &Option<Pattern>, text: Option<&str>| {
            pattern.as_ref().is_none_or(|pattern| text.is_some_and(|text| pattern.matches(text)))
        };
        matches(&self.message_id, Some(&message.message_id))
            && matches(&self.name, name.as_deref())
            && matches(&self.word, text.split_whitespace().next())
            && self.text.as_ref().is_none_or(|pattern| {
                Pattern(pattern.0.to_lowercase()).matches(&text.trim().to_lowercase())
            })
            && self.data.as_ref().is_none_or(|wanted| {
                let mut objects =
                    message.parts.iter().filter_map(Part::as_data).filter_map(Value::as_object);
                objects.any(|object| has_members(object, wanted))
            })
            && self.metadata.as_ref().is_none_or(|wanted| {
                message.metadata.as_ref().is_some_and(|object| has_members(object, wanted))
                    || wanted.is_empty()
            })
            && self
                .follows
                .as_ref()
                .is_none_or(|id| previous.is_some_and(|previous| previous.id.as_ref() == Some(id)))
    }
}

impl Rule {
    /// How many questions the rule asks.
    pub(crate) fn questions(&self) -> usize {
        self.steps.iter().filter(|step| step.is_question()).count()
    }

    /// The steps behind a number of questions.
    pub(crate) fn steps_after(&self, answers: usize) -> &[Step] {
        let questions = self.steps.iter().enumerate().filter(|(_, step)| step.is_question());
        let last = questions.take(answers).last();
        last.map_or(&self.steps[..], |(index, _)| &self.steps[index + 1..])
    }
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
            return false;
        };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
}

/// The name at the start of the first text part: words of lower-case letters and digits, joined
/// by hyphens.
pub(crate) fn name(message: &Message) -> Option<String> {
    let text = message.parts.iter().find_map(Part::as_text)?.trim_start();
    let is_of_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut end = 0;
    while let Some(rest) = text.get(end..) {
        let hyphen = usize::from(end > 0);
        let word = if end > 0 { rest.strip_prefix('-').unwrap_or_default() } else { rest };
        match word.find(|c| !is_of_word(c)).unwrap_or(word.len()) {
            0 => break,
            length => end += hyphen + length,
        }
    }
    (end > 0).then(|| text[..end].to_owned())
}

fn has_members(object: &Struct, wanted: &toml::Table) -> bool {
    wanted.iter().all(|(name, value)| {
        let value = serde_json::to_value(value).unwrap_or_default();
        object.get(name).is_some_and(|member| match (member.as_f64(), value.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() < f64::EPSILON,
            _ => serde_json::Value::from(member.clone()) == value,
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(when: &str) -> Rule {
        Rule { when: toml::from_str(when).unwrap(), ..Rule::default() }
    }

    fn matches(when: &str, message: &Message) -> bool {
        let rules = Rules { all: vec![rule(when)], default: Rule::default() };
        rules.matching(message, None).is_some()
    }

    fn message(id: &str, text: &str) -> Message {
        Message { message_id: id.into(), ..Message::user(text) }
    }

    #[test]
    fn star_matches_any_characters() {
        for (pattern, text, is_match) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("abc*", "abcd", true),
            ("*", "", true),
            ("a*c", "ac", true),
            ("a*c", "abdc", true),
            ("a*c", "abcd", false),
            ("a*b*c", "a-b-b-c", true),
            ("*b*", "abc", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(Pattern(pattern.into()).matches(text), is_match, "{pattern} {text}");
        }
    }

    #[test]
    fn a_name_is_as_long_as_it_can_be_and_the_rest_is_ignored() {
        for (text, expected) in [
            ("run-cancel", Some("run-cancel")),
            ("  run-file-url, please", Some("run-file-url")),
            ("run-multi-turn-", Some("run-multi-turn")),
            ("run-multi--turn", Some("run-multi")),
            ("run-Upper", Some("run")),
            ("Run", None),
            ("", None),
            ("-run", None),
        ] {
            assert_eq!(name(&Message::user(text)).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn all_conditions_of_a_rule_have_to_hold() {
        let when = "word = \"stream\"\nmessage_id = \"m-*\"";
        assert!(matches(when, &message("m-1", " stream 5")));
        assert!(!matches(when, &message("n-1", "stream 5")));
        assert!(!matches(when, &message("m-1", "Stream 5")));
    }

    #[test]
    fn text_is_compared_in_any_case_and_without_surrounding_white_space() {
        assert!(matches("text = \"Done*\"", &message("m", " DONE, thanks ")));
        assert!(!matches("text = \"done\"", &message("m", "done, thanks")));
    }

    #[test]
    fn a_follow_up_continues_behind_the_question_or_with_the_first_rule() {
        let steps = |texts: &[&str]| {
            texts.iter().map(|step| toml::from_str(step).unwrap()).collect::<Vec<Step>>()
        };
        let asking = ["state = \"working\"", "ask = \"name?\"", "ask = \"age?\"", "wait = 1"];
        let rules = Rules {
            all: vec![
                Rule { steps: steps(&asking), ..rule("word = \"ask\"") },
                Rule { steps: steps(&["wait = 2", "wait = 3"]), ..rule("word = \"other\"") },
            ],
            default: Rule::default(),
        };
        for (texts, steps) in [
            (&["ask"][..], 4),
            (&["ask", "Ann"], 2),
            (&["ask", "other"], 2),
            (&["ask", "Ann", "7"], 1),
            (&["ask", "Ann", "7", "more"], 4),
            (&["ask", "Ann", "7", "other"], 2),
            (&["other", "hello"], 2),
            (&["hello", "hello"], 0),
            (&["hello", "other", "hello"], 0),
        ] {
            let history: Vec<_> = texts.iter().map(|text| Message::user(*text)).collect();
            let last = history.last().unwrap().clone();
            let task = Task { history, ..Task::default() };
            assert_eq!(rules.choose(&task, &last).len(), steps, "{texts:?}");
        }
    }

    #[test]
    fn members_of_data_and_metadata_are_compared() {
        let data = Message::user("go").with_part(Part::from(json!({"op": "get", "n": 2})));
        for (when, is_match) in [
            ("data = {}", true),
            ("data = { op = \"get\" }", true),
            ("data = { op = \"get\", n = 2 }", true),
            ("data = { op = \"put\" }", false),
            ("metadata = {}", true),
            ("metadata = { skill = \"x\" }", false),
        ] {
            assert_eq!(matches(when, &data), is_match, "{when}");
        }
        assert!(!matches("data = {}", &message("m", "go")));
    }
}
