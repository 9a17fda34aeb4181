//! Settings with their sources: the strongest source of each counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use serde_path_to_error::Segment;

use super::{
    schema,
    section::{Declared, Setting},
    value,
};
use crate::failure::Failure;

/// The source of a value, in order of precedence: later ones override earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Default,
    File { file: SettingsFile, path: PathBuf, line: usize },
    Variable(String),
    Flag(String),
}

/// A settings file, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SettingsFile {
    /// The file for all agents.
    Global,
    /// The file for the agent that is called.
    Agent,
    /// The nearest `.env`, which the user has not named.
    Found,
    /// The file of `--config`.
    Named,
    /// The file of `a2a serve`.
    Server,
}

impl Source {
    /// The precedence: higher ones override lower ones.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { file, .. } => 1 + *file as u8,
            Self::Variable(_) => 8,
            Self::Flag(_) => 9,
        }
    }

    /// The name in the output of `config show`.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File { file: SettingsFile::Global, .. } => "global",
            Self::File { file: SettingsFile::Agent, .. } => "agent",
            Self::File { file: SettingsFile::Found | SettingsFile::Named, .. } => "local",
            Self::File { file: SettingsFile::Server, .. } => "file",
            Self::Variable(_) => "env",
            Self::Flag(_) => "flag",
        }
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> Option<&Path> {
        if let Self::File { path, .. } = self { Some(path) } else { None }
    }

    /// Whether all values are texts, unlike those in the file of a server.
    const fn has_texts(&self) -> bool {
        !matches!(self, Self::Default | Self::File { file: SettingsFile::Server, .. })
    }

    /// Whether it is a file that the user has not named.
    pub(super) const fn is_found(&self) -> bool {
        matches!(self, Self::File { file: SettingsFile::Found, .. })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A setting that can't be used.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) source: Source,
    pub(super) key: String,
    pub(super) message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, key, message } = self;
        match source {
            Source::File { .. } if !key.is_empty() => write!(f, "{source}: {key}: {message}"),
            _ => write!(f, "{source}: {message}"),
        }
    }
}

impl Problem {
    fn to_json(&self) -> Value {
        let mut problem = json!({ "key": self.key, "message": self.message });
        match &self.source {
            Source::File { path, line, .. } => {
                problem["file"] = path.display().to_string().into();
                problem["line"] = (*line).into();
            }
            other => problem["source"] = other.to_string().into(),
        }
        problem
    }
}

/// Reports all problems together.
/// Errors: a usage failure that lists them, if there are any.
pub(super) fn report<T: Declared>(mut problems: Vec<Problem>) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    problems.sort_by(|one, other| one.source.cmp(&other.source));
    let messages: Vec<_> = problems.iter().map(Problem::to_string).collect();
    let details: Vec<_> = problems.iter().map(Problem::to_json).collect();
    Err(Failure::usage(messages.join("; "))
        .with_hint(T::HINT)
        .with_details(json!({ "problems": details })))
}

/// The settings of one source, or of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    /// Values by path, such as `listen.port`.
    pub(super) values: BTreeMap<String, Value>,
    /// The origins of values by path, also of those in arrays, such as `auth.jwt[0].issuer`.
    pub(super) sources: BTreeMap<String, Source>,
}

impl Layer {
    pub(crate) fn insert(&mut self, path: &str, value: impl Into<Value>, source: Source) {
        self.values.insert(path.to_owned(), value.into());
        self.sources.insert(path.to_owned(), source);
    }

    /// The value of a setting, if it is a text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.values.get(path)?.as_str()
    }

    /// Adds the settings of other sources. Of two values, that of the stronger source stays.
    pub(crate) fn merge(&mut self, mut other: Self) {
        for (path, source) in other.sources {
            if self.source(&path).rank() <= source.rank() {
                self.values.extend(other.values.remove_entry(&path));
                self.sources.insert(path, source);
            }
        }
    }

    /// Of settings that exclude each other, keeps that of the strongest source.
    /// Errors: two of them, if both have the strongest source.
    pub(super) fn exclude<'p, T: Declared>(
        &mut self,
        group: &[&'p str],
    ) -> Result<(), [&'p str; 2]> {
        let is_set = |path: &&str| {
            let value = self.values.get(*path);
            value.is_some() && value != T::setting(path).map(|setting| &setting.default)
        };
        let mut set: Vec<_> = group.iter().copied().filter(is_set).collect();
        set.sort_by_key(|path| self.source(path).rank());
        let Some(strongest) = set.pop() else { return Ok(()) };
        for weaker in set {
            if self.source(weaker).rank() == self.source(strongest).rank() {
                return Err([weaker, strongest]);
            }
            self.values.remove(weaker);
            self.sources.remove(weaker);
        }
        Ok(())
    }

    /// The source of the value at a path, or of the array that it is in.
    pub(crate) fn source(&self, path: &str) -> Source {
        let mut path = path;
        loop {
            if let Some(source) = self.sources.get(path) {
                return source.clone();
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = path.get(..end).unwrap_or_default(),
                None => return Source::Default,
            }
        }
    }

    /// The settings as a tree, with defaults.
    pub(super) fn tree<T: Declared>(&self) -> Value {
        let mut tree = json!({});
        for setting in T::settings() {
            let value = self.values.get(setting.path).unwrap_or(&setting.default);
            if !value.is_null() {
                tree[setting.section][setting.key] = value.clone();
            }
        }
        for (path, value) in self.values.iter().filter(|(path, _)| T::setting(path).is_none()) {
            if let Some((section, key)) = path.split_once('.') {
                tree[section][key] = value.clone();
            }
        }
        tree
    }

    /// Replaces each value by the one that is shown, which `tree` has at its place.
    pub(super) fn show<T: Declared>(&mut self, tree: &Value) {
        for setting in T::settings() {
            if let Some(value) = self.values.get_mut(setting.path) {
                value.clone_from(&tree[setting.section][setting.key]);
            }
        }
    }

    /// Returns all problems: a placeholder replaces each value that has one, until all can be read.
    pub(super) fn problems<T: Declared>(&self) -> Vec<Problem> {
        let mut tree = self.tree::<T>();
        let mut schema = Value::Null;
        let mut problems = Vec::new();
        let mut repaired = BTreeSet::new();
        while let Err(error) = serde_path_to_error::deserialize::<_, T>(&tree) {
            if schema.is_null() {
                schema = schema::json_schema::<T>();
            }
            let (key, text) = (path_of::<T>(&error.path().to_string()), error.inner().to_string());
            let source = self.source(&key);
            let mut place: Vec<_> = error.path().iter().cloned().collect();
            let message = match missing_field(&text) {
                Some(field) => {
                    place.push(Segment::Map { key: field.to_owned() });
                    format!("{field} is missing")
                }
                None => match (schema::at(&place, &schema), tree.pointer(&pointer(&place))) {
                    (Some(schema), Some(value)) => reason(schema, value, &source, &text),
                    _ => T::unknown(&key),
                },
            };
            let is_env_file = source.path().is_some() && source.has_texts();
            let variable = T::setting(&key).filter(|_| is_env_file).map(Setting::variable);
            problems.push(Problem { source, key: variable.unwrap_or(key), message });
            replace(&mut tree, &place, schema::at(&place, &schema).map(schema::placeholder));
            if !repaired.insert(pointer(&place)) {
                break;
            }
        }
        problems
    }
}

/// The path of a setting, and of what is in it, from its place in the tree.
fn path_of<T: Declared>(place: &str) -> String {
    let named = T::settings().find_map(|setting| {
        let rest = place.strip_prefix(setting.section)?.strip_prefix('.')?;
        let rest = rest.strip_prefix(setting.key)?;
        let is_whole = rest.is_empty() || rest.starts_with(['.', '[']);
        is_whole.then(|| format!("{}{rest}", setting.path))
    });
    named.unwrap_or_else(|| place.to_owned())
}

fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

/// Why a value can't be used, without repeating strings: one may be a secret in the wrong place.
fn reason(schema: &Value, value: &Value, source: &Source, error: &str) -> String {
    let expected = schema::expected(schema);
    if value.is_number() || !schema::matches_type(schema, value) {
        return match value.as_str().filter(|_| source.has_texts()) {
            Some(text) if schema::has_type(schema, "boolean") => {
                value::switch(text).err().unwrap_or(expected)
            }
            Some(_) => expected,
            None => format!("{expected}, found {}", schema::kind(value)),
        };
    }
    if schema::choices(schema).is_empty() { error.to_owned() } else { expected }
}

/// A path as a JSON pointer.
fn pointer(path: &[Segment]) -> String {
    let names = path.iter().map(|segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        other => format!("/{other}"),
    });
    names.collect()
}

/// Replaces a value, or removes it.
fn replace(tree: &mut Value, path: &[Segment], value: Option<Value>) {
    let Some((last, parent)) = path.split_last() else { return };
    match (tree.pointer_mut(&pointer(parent)), last, value) {
        (Some(Value::Object(fields)), Segment::Map { key }, Some(value)) => {
            fields.insert(key.clone(), value);
        }
        (Some(Value::Object(fields)), Segment::Map { key }, None) => drop(fields.remove(key)),
        (Some(Value::Array(items)), Segment::Seq { index }, value) => {
            items.get_mut(*index).into_iter().zip(value).for_each(|(item, value)| *item = value);
        }
        _ => {}
    }
}
