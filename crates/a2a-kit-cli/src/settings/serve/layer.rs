//! The settings of one source: the file, the variables, or the flags.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use serde_json::{Value, json};
use serde_path_to_error::Segment;

use super::{Serve, schema, settings, suggestion};
use crate::failure::Failure;

/// The source of a value, in order of precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(String),
}

impl Source {
    /// The precedence: higher ones override lower ones.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Variable(_) => 2,
            Self::Flag(_) => 3,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A setting that can't be used.
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
            Source::File { path, line } => {
                problem["file"] = path.display().to_string().into();
                problem["line"] = (*line).into();
            }
            other => problem["source"] = other.to_string().into(),
        }
        problem
    }
}

/// A usage failure that lists all problems.
pub(super) fn failure(problems: &[Problem]) -> Failure {
    let messages: Vec<_> = problems.iter().map(Problem::to_string).collect();
    let details: Vec<_> = problems.iter().map(Problem::to_json).collect();
    Failure::usage(messages.join("; "))
        .with_hint("`a2a serve --print-settings` shows every key with its value")
        .with_details(json!({ "problems": details }))
}

/// The settings of one source.
#[derive(Default)]
pub(super) struct Layer {
    /// Values by path, such as `listen.port`.
    pub(super) values: BTreeMap<String, Value>,
    /// The origins of values by path, also of those in arrays, such as `auth.jwt[0].issuer`.
    pub(super) sources: BTreeMap<String, Source>,
}

impl Layer {
    pub(super) fn insert(&mut self, path: &str, value: Value, source: Source) {
        self.values.insert(path.to_owned(), value);
        self.sources.insert(path.to_owned(), source);
    }

    /// The source of the value at a path, or of the array that it is in.
    pub(super) fn source(&self, path: &str) -> Source {
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
    pub(super) fn tree(&self) -> Value {
        let mut tree = json!({});
        for setting in settings() {
            if !setting.default.is_null() {
                tree[setting.section][setting.key] = setting.default.clone();
            }
        }
        for (path, value) in &self.values {
            if let Some((section, key)) = path.split_once('.') {
                tree[section][key] = value.clone();
            }
        }
        tree
    }

    /// Returns all problems: a placeholder replaces each value that has one, until all can be read.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let schema = schema::json_schema();
        let mut tree = self.tree();
        let mut problems = Vec::new();
        let mut repaired = BTreeSet::new();
        while let Err(error) = serde_path_to_error::deserialize::<_, Serve>(&tree) {
            let (key, text) = (error.path().to_string(), error.inner().to_string());
            let source = self.source(&key);
            let mut place: Vec<_> = error.path().iter().cloned().collect();
            let message = match missing_field(&text) {
                Some(field) => {
                    place.push(Segment::Map { key: field.to_owned() });
                    format!("{field} is missing")
                }
                None => match (schema::at(&place, &schema), tree.pointer(&pointer(&place))) {
                    (Some(schema), Some(value)) => reason(schema, value, &source, &text),
                    _ => suggestion::unknown(&key),
                },
            };
            problems.push(Problem { source, key, message });
            replace(&mut tree, &place, schema::at(&place, &schema).map(schema::placeholder));
            if !repaired.insert(pointer(&place)) {
                break;
            }
        }
        problems
    }
}

fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

/// Why a value can't be used, without repeating strings: one may be a secret in the wrong place.
fn reason(schema: &Value, value: &Value, source: &Source, error: &str) -> String {
    let expected = schema::expected(schema);
    if value.is_number() || !schema::matches_type(schema, value) {
        // In variables and flags everything is a string.
        let is_text = value.is_string() && !matches!(source, Source::File { .. });
        return if is_text {
            expected
        } else {
            format!("{expected}, found {}", schema::kind(value))
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
