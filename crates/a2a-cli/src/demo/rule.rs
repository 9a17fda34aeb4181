//! Which behaviour a message asks for: the first rule that matches.

use a2a_core::{Message, Part};

use super::{Profile, message_id, word};

/// The behaviour that a message asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The profile for measurements, where only the text counts.
    Bench,
    /// The message id starts with this name.
    MessageId(&'static str),
    /// The first text part starts with this name, which may be unknown.
    Text(String),
    /// The first word of the text is this one.
    Word(&'static str),
    /// Nothing else matches.
    Default,
}

impl Rule {
    /// Returns the rule that a message matches by itself.
    pub(super) fn of(message: &Message, profile: Profile) -> Option<Self> {
        if profile == Profile::Bench {
            return Some(Self::Bench);
        }
        let by_id = longest_prefix(&message.message_id, &message_id::NAMES).map(Self::MessageId);
        let by_text = || {
            let text = message.parts.iter().find_map(Part::as_text)?;
            suite_name(text).map(|name| Self::Text(name.to_owned()))
        };
        let by_word = || {
            let text = message.text();
            let first = text.split_whitespace().next()?;
            let known = word::WORDS.iter().find(|word| word.name == first)?;
            (profile == Profile::Demo).then_some(Self::Word(known.name))
        };
        by_id.or_else(by_text).or_else(by_word)
    }
}

fn longest_prefix(id: &str, names: &[&'static str]) -> Option<&'static str> {
    names.iter().copied().filter(|name| id.starts_with(name)).max_by_key(|name| name.len())
}

/// The name of a suite's behaviour at the start of a text: `tck-` and words joined by hyphens.
fn suite_name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let rest = text.strip_prefix("tck-")?;
    let mut end = 0;
    for word in rest.split('-') {
        let length = word
            .find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()))
            .unwrap_or(word.len());
        if length == 0 {
            break;
        }
        let hyphen = usize::from(end > 0);
        end += hyphen + length;
        if length < word.len() {
            break;
        }
    }
    (end > 0).then(|| &text[.."tck-".len() + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, text: &str) -> Message {
        Message { message_id: id.into(), ..Message::user(text) }
    }

    #[test]
    fn the_longest_name_at_the_start_of_the_message_id_wins() {
        for (id, name) in [
            ("tck-artifact-file-1", "tck-artifact-file"),
            ("tck-artifact-file-url-1", "tck-artifact-file-url"),
            ("tck-stream-001", "tck-stream-001"),
            ("acc-echo", "acc-echo"),
        ] {
            let rule = Rule::of(&message(id, "tck-cancel"), Profile::Conformance);
            assert_eq!(rule, Some(Rule::MessageId(name)), "{id}");
        }
    }

    #[test]
    fn a_suites_name_is_as_long_as_it_can_be_and_the_rest_is_noise() {
        for (text, name) in [
            ("tck-cancel", Some("tck-cancel")),
            ("  tck-artifact-file-url, please", Some("tck-artifact-file-url")),
            ("tck-multi-turn-", Some("tck-multi-turn")),
            ("tck-multi--turn", Some("tck-multi")),
            ("tck-Upper", None),
            ("tck-", None),
            ("a tck-cancel", None),
        ] {
            assert_eq!(suite_name(text), name, "{text}");
        }
    }

    #[test]
    fn words_are_for_the_demo_profile_only_and_exact() {
        let rule = |text, profile| Rule::of(&message("m", text), profile);
        assert_eq!(rule("stream 5", Profile::Demo), Some(Rule::Word("stream")));
        assert_eq!(rule("Stream 5", Profile::Demo), None);
        assert_eq!(rule("stream 5", Profile::Conformance), None);
        assert_eq!(rule("stream 5", Profile::Bench), Some(Rule::Bench));
    }
}
