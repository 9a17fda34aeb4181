//! A script, and how it is read: TOML, in tables.

use std::{collections::BTreeMap, fmt, fs, io::Read as _, path::Path};

use a2a_core::AgentCard;
use schemars::JsonSchema;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IntoDeserializer as _},
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    card::Card,
    rule::{Rule, Rules},
    schedule::{Schedule, ScheduledFault},
    step::Step,
};
use crate::failure::Failure;

/// The largest script, in bytes.
const MAX_BYTES: usize = 1 << 20;

const DEMO: &str = include_str!("demo.toml");
const CONFORMANCE: &str = include_str!("conformance.toml");
const ECHO: &str = include_str!("echo.toml");

/// A built-in agent.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Profile {
    /// For people: words such as `stream 5` and `ask`.
    #[default]
    Demo,
    /// For conformance suites.
    Conformance,
    /// For measurements: the least work around the library.
    Bench,
}

/// An agent as a file describes it.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(super) card: Card,
    pub(crate) rules: Rules,
    /// The faults that don't depend on the message.
    pub(crate) schedule: Schedule,
    /// The steps of the default rule with `--default complete`.
    complete: Vec<Step>,
    /// Variables that conformance suites set to `1`, and what each switches.
    environment: BTreeMap<String, Switch>,
    /// The tokens of conformance suites.
    pub(crate) bearer: Tokens,
}

/// What a variable of the environment switches.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Switch {
    /// No streaming, no push notifications, no extended card.
    ReducedCapabilities,
    /// All operations need a bearer token.
    RequireBearer,
}

/// Bearer tokens that a script knows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tokens {
    /// Allows everything where a token is required.
    pub(crate) accepted: String,
    /// Is known and allows nothing: 403 instead of 401.
    pub(crate) insufficient: Option<String>,
}

/// An error in a script.
#[derive(Debug, Serialize)]
struct Problem {
    file: String,
    line: usize,
    key: String,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, key, message } = self;
        write!(f, "{file}:{line}: {key}: {message}")
    }
}

impl Script {
    /// Reads the script of a file.
    ///
    /// # Errors
    ///
    /// A usage failure with every problem in the file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let place = path.display();
        let unreadable = |error| Failure::usage(format!("--script {place}: {error}"));
        let mut text = String::new();
        let file = fs::File::open(path).map_err(unreadable)?;
        let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1;
        file.take(limit).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() > MAX_BYTES {
            return Err(Failure::usage(format!("--script {place} is larger than 1 MiB")));
        }
        Self::parse(&place.to_string(), &text)
    }

    /// The script of a built-in agent.
    ///
    /// # Errors
    ///
    /// None: a test reads every built-in script.
    pub(crate) fn of_profile(profile: Profile, completes: bool) -> Result<Self, Failure> {
        let mut script = Self::parse("conformance.toml", CONFORMANCE)?;
        match profile {
            Profile::Conformance if completes => {
                script.rules.default.steps = std::mem::take(&mut script.complete);
            }
            Profile::Conformance => {}
            Profile::Bench => script.rules = Rules::default(),
            Profile::Demo => {
                // Suites may run against the demo agent too.
                let demo = Self::parse("demo.toml", DEMO)?;
                script.card = demo.card;
                script.rules.all.extend(demo.rules.all);
                script.rules.default = demo.rules.default;
            }
        }
        Ok(script)
    }

    /// The script of the agent that echoes.
    ///
    /// # Errors
    ///
    /// None: a test reads every built-in script.
    pub(crate) fn echo() -> Result<Self, Failure> {
        Self::parse("echo.toml", ECHO)
    }

    fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        let mut reader = Reader { file, text, problems: Vec::new() };
        let script = reader.script();
        let problems = reader.problems;
        if problems.is_empty() {
            return Ok(script);
        }
        let lines: Vec<_> = problems.iter().map(Problem::to_string).collect();
        Err(Failure::usage(lines.join("; "))
            .with_hint("docs/scripts.md describes scripts")
            .with_details(serde_json::json!({ "problems": problems })))
    }

    /// The card, without interfaces.
    pub(crate) fn card(&self) -> AgentCard {
        self.card.card()
    }

    /// Returns whether some response has a fault.
    pub(crate) fn has_faults(&self) -> bool {
        self.rules.have_faults() || !self.schedule.is_empty()
    }

    pub(crate) fn has_push_notifications(&self) -> bool {
        self.card.push_notifications
    }

    /// Returns whether the environment switches something.
    pub(crate) fn is_switched(&self, switch: Switch) -> bool {
        let mut variables = self.environment.iter().filter(|(_, switched)| **switched == switch);
        variables.any(|(name, _)| std::env::var(name).is_ok_and(|value| value == "1"))
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    fn script(&mut self) -> Script {
        let mut script = Script::default();
        let root = match DeTable::parse(self.text) {
            Ok(root) => root.into_inner(),
            Err(error) => {
                self.error("toml", 0, &error);
                return script;
            }
        };
        for (name, value) in root {
            let at = name.span().start;
            match name.get_ref().as_ref() {
                "card" => script.card = self.value("card", value).unwrap_or_default(),
                "environment" => {
                    script.environment = self.value("environment", value).unwrap_or_default();
                }
                "bearer" => script.bearer = self.value("bearer", value).unwrap_or_default(),
                "default" => {
                    let keys = ["steps", "complete", "fault"];
                    let mut table = self.table("default", keys, value);
                    let [steps, complete, fault] = &mut table;
                    script.rules.default = Rule {
                        steps: self.steps("default.steps", steps.take()),
                        fault: fault.take().and_then(|value| self.value("default.fault", value)),
                        ..Rule::default()
                    };
                    script.complete = self.steps("default.complete", complete.take());
                }
                "rule" => script.rules.all = self.rules(value),
                "fault" => script.schedule = Schedule::new(self.faults(value)),
                other => {
                    let expected = "expected card, default, rule, fault, environment or bearer";
                    self.problem(other, at, format!("unknown key, {expected}"));
                }
            }
        }
        let default = &mut script.rules.default;
        if default.steps.is_empty() && default.fault.is_none() {
            default.steps.push(Step::no_rule_matches());
        }
        let requires_bearer = script.environment.values().any(|one| *one == Switch::RequireBearer);
        if requires_bearer && script.bearer.accepted.is_empty() {
            self.problem("bearer.accepted", 0, "is needed for require_bearer".into());
        }
        script
    }

    fn faults(&mut self, value: Spanned<DeValue<'a>>) -> Vec<ScheduledFault> {
        let at = value.span().start;
        let DeValue::Array(faults) = value.into_inner() else {
            self.problem("fault", at, "expected tables: [[fault]]".into());
            return Vec::new();
        };
        let faults = faults.into_iter().enumerate();
        faults.filter_map(|(index, fault)| self.value(&format!("fault[{index}]"), fault)).collect()
    }

    fn rules(&mut self, value: Spanned<DeValue<'a>>) -> Vec<Rule> {
        let at = value.span().start;
        let DeValue::Array(rules) = value.into_inner() else {
            self.problem("rule", at, "expected tables: [[rule]]".into());
            return Vec::new();
        };
        let mut read = Vec::new();
        let mut follows = Vec::new();
        for (index, rule) in rules.into_iter().enumerate() {
            let (key, at) = (format!("rule[{index}]"), rule.span().start);
            let [id, when, fault, steps] = self.table(&key, ["id", "when", "fault", "steps"], rule);
            let of = |name: &str| format!("{key}.{name}");
            if steps.is_none() && fault.is_none() {
                self.problem(&key, at, "needs steps or a fault".into());
            }
            let rule = Rule {
                id: id.and_then(|value| self.value(&of("id"), value)),
                when: when.and_then(|value| self.value(&of("when"), value)).unwrap_or_default(),
                fault: fault.and_then(|value| self.value(&of("fault"), value)),
                steps: self.steps(&of("steps"), steps),
            };
            follows.extend(rule.when.follows.clone().map(|id| (of("when.follows"), at, id)));
            read.push(rule);
        }
        for (key, at, id) in follows {
            if !read.iter().any(|rule| rule.id.as_ref() == Some(&id)) {
                self.problem(&key, at, format!("no rule has the id {id:?}"));
            }
        }
        read
    }

    /// Takes the values of a table apart.
    fn table<const N: usize>(
        &mut self,
        key: &str,
        names: [&str; N],
        value: Spanned<DeValue<'a>>,
    ) -> [Option<Spanned<DeValue<'a>>>; N] {
        let mut values = [const { None }; N];
        let at = value.span().start;
        let DeValue::Table(table) = value.into_inner() else {
            self.problem(key, at, "expected a table".into());
            return values;
        };
        for (name, value) in table {
            match names.iter().position(|known| *known == name.get_ref().as_ref()) {
                Some(index) => values[index] = Some(value),
                None => {
                    let message = format!("unknown key, expected {}", names.join(", "));
                    self.problem(&format!("{key}.{}", name.get_ref()), name.span().start, message);
                }
            }
        }
        values
    }

    fn steps(&mut self, key: &str, value: Option<Spanned<DeValue<'a>>>) -> Vec<Step> {
        let Some(value) = value else { return Vec::new() };
        let at = value.span().start;
        let DeValue::Array(values) = value.into_inner() else {
            self.problem(key, at, "expected a list of steps".into());
            return Vec::new();
        };
        let mut steps: Vec<Step> = Vec::new();
        for (index, value) in values.into_iter().enumerate() {
            let (key, at) = (format!("{key}[{index}]"), value.span().start);
            if steps.last().is_some_and(Step::is_end) {
                self.problem(&key, at, "is never reached: the step in front of it ends".into());
            }
            steps.extend(self.value(&key, value));
        }
        steps
    }

    fn value<T: DeserializeOwned>(&mut self, key: &str, value: Spanned<DeValue<'a>>) -> Option<T> {
        let at = value.span().start;
        match T::deserialize(value.into_deserializer()) {
            Ok(value) => Some(value),
            Err(error) => {
                self.error(key, at, &error);
                None
            }
        }
    }

    fn error(&mut self, key: &str, at: usize, error: &toml::de::Error) {
        let at = error.span().map_or(at, |span| span.start);
        self.problem(key, at, error.message().replace('\n', ", "));
    }

    fn problem(&mut self, key: &str, at: usize, message: String) {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let (file, key) = (self.file.to_owned(), key.to_owned());
        self.problems.push(Problem { file, line, key, message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_scripts_are_valid() {
        for profile in [Profile::Demo, Profile::Conformance, Profile::Bench] {
            for completes in [false, true] {
                Script::of_profile(profile, completes).unwrap();
            }
        }
        Script::echo().unwrap();
    }
}
