//! A script, and how it is read: TOML, in tables.

use std::{fmt, fs, io::Read as _, path::Path, sync::Arc};

use a2a_core::AgentCard;
use a2a_kit_operations::Engine;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    authorize::Authorizations,
    card::Card,
    error::{ScriptError, ScriptProblem},
    rule::{Rule, Rules},
    schedule::{Schedule, ScheduledFault},
    step::{Builtins, Step},
};

/// The largest script, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// An agent as a file describes it.
///
/// It is the executor of an engine, which answers the messages. Clones are the same agent: they
/// share the counts of its faults, and the tasks that wait for [`authorize`](Self::authorize).
#[derive(Clone)]
pub struct Script(pub(crate) Arc<Contents>);

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub(crate) card: Card,
    pub(crate) rules: Rules,
    /// The faults that don't depend on the message.
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) builtins: Builtins,
    /// The tasks that wait for their authorization.
    pub(crate) authorizations: Authorizations,
}

impl Builtins {
    /// Reads a script, whose steps may use these behaviours.
    ///
    /// # Errors
    ///
    /// As of [`Script::read`].
    pub fn read(self, path: impl AsRef<Path>) -> Result<Script, ScriptError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let unreadable = |source| ScriptError::Unreadable { file: name.clone(), source };
        let mut text = String::new();
        let file = fs::File::open(path).map_err(unreadable)?;
        let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1;
        file.take(limit).read_to_string(&mut text).map_err(unreadable)?;
        self.parse(&name, &text)
    }

    /// Reads the text of a script, whose steps may use these behaviours.
    ///
    /// # Errors
    ///
    /// As of [`Script::parse`].
    pub fn parse(self, file: &str, text: &str) -> Result<Script, ScriptError> {
        if text.len() > MAX_BYTES {
            return Err(ScriptError::TooLarge(file.to_owned()));
        }
        let mut reader = Reader { file, text, builtins: &self, problems: Vec::new() };
        let contents = reader.contents();
        let problems = reader.problems;
        if problems.is_empty() {
            Ok(Script(Arc::new(Contents { builtins: self, ..contents })))
        } else {
            Err(ScriptError::Invalid(problems))
        }
    }
}

impl Script {
    /// Reads the script of a file.
    ///
    /// # Errors
    ///
    /// [`ScriptError::Unreadable`] or [`ScriptError::TooLarge`], else all problems of the file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        Builtins::new().read(path)
    }

    /// Reads the text of a script; `file` names it in errors.
    ///
    /// # Errors
    ///
    /// [`ScriptError::TooLarge`], else all problems of the text.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        Builtins::new().parse(file, text)
    }

    /// Lets another script answer the messages that no rule matches; the agent is the other one,
    /// with its card and its default, and keeps the scheduled faults of this one.
    #[must_use]
    pub fn or_else(mut self, other: Self) -> Self {
        let contents = Arc::make_mut(&mut self.0);
        contents.card.clone_from(&other.0.card);
        contents.rules.all.extend(other.0.rules.all.iter().cloned());
        contents.rules.default.clone_from(&other.0.rules.default);
        let builtins = other.0.builtins.0.iter();
        contents.builtins.0.extend(builtins.map(|(name, run)| (name.clone(), Arc::clone(run))));
        self
    }

    /// The card, without interfaces.
    pub fn card(&self) -> AgentCard {
        self.0.card.card()
    }

    /// An engine that runs the script, with the tasks in memory and without webhooks.
    pub fn engine(&self) -> Engine {
        let card = self.card().with_push_notifications(false);
        let builder = Engine::builder(card.clone(), self.clone());
        let builder = if card.has_extended_card() { builder.extended_card(card) } else { builder };
        builder.build()
    }

    /// Lets a task go on that waits for its authorization (`wait_until = "authorized"`), and returns
    /// whether there is one. It does not check whose task it is: do that before calling it for a caller.
    pub fn authorize(&self, task_id: &str) -> bool {
        self.0.authorizations.grant(task_id)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("card", &self.0.card).finish_non_exhaustive()
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    builtins: &'a Builtins,
    problems: Vec<ScriptProblem>,
}

impl<'a> Reader<'a> {
    fn contents(&mut self) -> Contents {
        let mut script = Contents::default();
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
                "default" => {
                    let [steps, fault] = self.table("default", ["steps", "fault"], value);
                    script.rules.default = Rule {
                        steps: self.steps("default.steps", steps),
                        fault: fault.and_then(|value| self.value("default.fault", value)),
                        ..Rule::default()
                    };
                }
                "rule" => script.rules.all = self.rules(value),
                "fault" => script.schedule = Arc::new(Schedule::new(self.faults(value))),
                other => {
                    let expected = "expected card, default, rule or fault";
                    self.problem(other, at, format!("unknown key, {expected}"));
                }
            }
        }
        let default = &mut script.rules.default;
        if default.steps.is_empty() && default.fault.is_none() {
            default.steps.push(Step::no_rule_matches());
        }
        script
    }

    fn faults(&mut self, value: Spanned<DeValue<'a>>) -> Vec<ScheduledFault> {
        let faults =
            self.list("fault", "expected tables: [[fault]]", value).into_iter().enumerate();
        faults.filter_map(|(index, fault)| self.value(&format!("fault[{index}]"), fault)).collect()
    }

    fn rules(&mut self, value: Spanned<DeValue<'a>>) -> Vec<Rule> {
        let (mut read, mut follows) = (Vec::new(), Vec::new());
        let rules = self.list("rule", "expected tables: [[rule]]", value);
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

    fn list(
        &mut self,
        key: &str,
        expected: &str,
        value: Spanned<DeValue<'a>>,
    ) -> Vec<Spanned<DeValue<'a>>> {
        let at = value.span().start;
        match value.into_inner() {
            DeValue::Array(values) => values.into_iter().collect(),
            _ => {
                self.problem(key, at, expected.into());
                Vec::new()
            }
        }
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
        let mut steps: Vec<Step> = Vec::new();
        let values = self.list(key, "expected a list of steps", value);
        for (index, value) in values.into_iter().enumerate() {
            let (key, at) = (format!("{key}[{index}]"), value.span().start);
            if steps.last().is_some_and(Step::is_end) {
                self.problem(&key, at, "is never reached: the step in front of it ends".into());
            }
            let step = self.value(&key, value);
            if let Some(Step::Builtin(name)) = &step
                && !self.builtins.0.contains_key(name)
            {
                let known: Vec<_> = self.builtins.0.keys().map(String::as_str).collect();
                let message = match &known[..] {
                    [] => format!("unknown builtin {name:?}"),
                    known => format!("unknown builtin {name:?}, expected {}", known.join(" or ")),
                };
                self.problem(&key, at, message);
            }
            steps.extend(step);
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
        self.problems.push(ScriptProblem { file, line, key, message });
    }
}
