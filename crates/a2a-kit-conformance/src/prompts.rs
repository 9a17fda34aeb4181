//! Texts that make an agent behave in a certain way.

use std::str::FromStr;

use a2a_core::{AgentCard, ParseError, v1::AgentSkill};

/// The texts that make the agent under test behave in a certain way. What has no text can only be
/// measured if the agent behaves that way for [`Prompts::hello`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompts {
    /// A harmless text. Default: `Hello from a2a conformance`.
    pub hello: String,
    /// The task asks for input.
    pub ask: Option<String>,
    /// The task produces several events.
    pub stream: Option<String>,
    /// The task works for several seconds, and can be canceled.
    pub slow: Option<String>,
    /// The task produces an artifact.
    pub artifact: Option<String>,
    /// The answer is a message, without a task.
    pub message: Option<String>,
    /// The task fails.
    pub fail: Option<String>,
}

/// The behaviors, in the order of their texts.
const BEHAVIORS: [&str; 7] = ["hello", "ask", "stream", "slow", "artifact", "message", "fail"];

impl Default for Prompts {
    fn default() -> Self {
        Self {
            hello: "Hello from a2a conformance".to_owned(),
            ask: None,
            stream: None,
            slow: None,
            artifact: None,
            message: None,
            fail: None,
        }
    }
}

impl Prompts {
    /// The words of the demo agent of `a2a serve`.
    pub fn demo() -> Self {
        let word = |text: &str| Some(text.to_owned());
        Self {
            ask: word("ask"),
            stream: word("stream 8"),
            slow: word("slow 20"),
            artifact: word("data"),
            message: word("message"),
            fail: word("fail"),
            ..Self::default()
        }
    }

    /// The behaviors and their texts.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let Self { hello, ask, stream, slow, artifact, message, fail } = self;
        let others = [ask, stream, slow, artifact, message, fail].map(Option::as_deref);
        BEHAVIORS.into_iter().zip(std::iter::once(Some(&**hello)).chain(others))
    }

    fn text_mut(&mut self, behavior: &str) -> Option<&mut Option<String>> {
        let index = BEHAVIORS.iter().skip(1).position(|known| *known == behavior)?;
        let Self { ask, stream, slow, artifact, message, fail, .. } = self;
        [ask, stream, slow, artifact, message, fail].into_iter().nth(index)
    }

    /// Fills in the words of the demo agent that the card names: skills with the tag `demo`, whose id
    /// is the word and whose example begins with it. An agent with other words may have the same
    /// skills for its tests.
    pub(crate) fn or_of_card(mut self, card: &AgentCard) -> Self {
        for (behavior, text) in Self::demo().texts() {
            let is_word =
                |other: &String| first_word(other) == first_word(text.unwrap_or_default());
            let is_skill = |skill: &AgentSkill| {
                is_word(&skill.id)
                    && skill.tags.iter().any(|tag| tag == "demo")
                    && skill.examples.iter().any(is_word)
            };
            if let Some(own) = self.text_mut(behavior)
                && card.skills.iter().any(is_skill)
            {
                own.get_or_insert_with(|| text.unwrap_or_default().to_owned());
            }
        }
        self
    }

    /// Sets texts from a list such as `ask=Which city?,slow=work`. A `\,` is a comma in a text.
    ///
    /// # Errors
    ///
    /// [`ParseError`] for an entry that is not `behavior=text` or an unknown behavior.
    pub fn set(&mut self, list: &str) -> Result<(), ParseError> {
        let list = list.replace("\\,", "\0");
        for entry in list.split(',').map(|entry| entry.replace('\0', ",")) {
            let invalid = || {
                let known = "hello, ask, stream, slow, artifact, message or fail";
                let expected = format!("expected {known}, then = and a text");
                ParseError::new(format!("invalid prompt {entry:?} ({expected})"))
            };
            let (behavior, text) = entry.split_once('=').ok_or_else(invalid)?;
            let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            match behavior.trim() {
                "hello" => self.hello = text.ok_or_else(invalid)?,
                other => *self.text_mut(other).ok_or_else(invalid)? = text,
            }
        }
        Ok(())
    }
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

impl FromStr for Prompts {
    type Err = ParseError;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        let mut prompts = Self::default();
        prompts.set(list)?;
        Ok(prompts)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn list_of_prompts_is_parsed() {
        let prompts: Prompts = r"ask=Which city\, please?,slow=work hard".parse().unwrap();
        assert_eq!(prompts.ask.as_deref(), Some("Which city, please?"));
        assert_eq!(prompts.slow.as_deref(), Some("work hard"));
        assert_eq!(prompts.message, None);
    }

    #[test]
    fn words_of_the_demo_agent_are_found_by_skills_that_are_tagged_so() {
        let skill = |id: &str, tags: &[&str], example: &str| json!({ "id": id, "tags": tags, "examples": [example] });
        let card = json!({ "skills": [
            skill("ask", &["demo"], "ask"),
            skill("slow", &["demo", "work"], "slow 3"),
            skill("stream", &["video"], "stream a film"),
            skill("data", &["demo"], "database of films"),
            skill("message", &["demo"], "Message me"),
            { "id": "fail", "tags": ["demo"] },
        ]});
        let read =
            |card: &serde_json::Value| serde_json::from_value::<AgentCard>(card.clone()).unwrap();
        let given: Prompts = "slow=work".parse().unwrap();
        let expected = Prompts { ask: Some("ask".into()), ..given.clone() };
        assert_eq!(given.or_of_card(&read(&card)), expected);
        assert_eq!(Prompts::default().or_of_card(&read(&json!({}))), Prompts::default());
    }

    #[test]
    fn unknown_behavior_is_an_error() {
        for list in ["dance=x", "ask", "hello="] {
            assert!(list.parse::<Prompts>().is_err(), "{list}");
        }
    }
}
