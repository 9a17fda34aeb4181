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
#[derive(Debug)]
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
#[derive(Debug, Default)]
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
            // Every section is there, even without a default.
            let section = &mut tree[setting.section];
            if section.is_null() {
                *section = json!({});
            }
            if !setting.default.is_null() {
                section[setting.key] = setting.default.clone();
            }
        }
        for (path, value) in &self.values {
            if let Some((section, key)) = path.split_once('.') {
                tree[section][key] = value.clone();
            }
        }
        tree
    }

    /// Returns all problems: each one found is repaired until the tree can be read.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let schema = schema::json_schema();
        let mut tree = self.tree();
        let mut problems = Vec::new();
        let mut wrong = BTreeSet::new();
        while let Err(error) = serde_path_to_error::deserialize::<_, Serve>(&tree) {
            let path = error.path();
            let segments: Vec<_> = path.iter().cloned().collect();
            let key = path.to_string();
            let text = error.inner().to_string();
            let (field, message, is_repaired) = match missing_field(&text) {
                Some(field) => {
                    let is_repaired = fill(&mut tree, &schema, &segments, field);
                    (format!("{key}.{field}"), format!("{field} is missing"), is_repaired)
                }
                None => {
                    let message = message(&tree, &schema, &segments, &key, &text);
                    let is_repaired = remove(&mut tree, &segments);
                    (key.clone(), message, is_repaired)
                }
            };
            // A field is missing after its value was found to be wrong and removed.
            if wrong.insert(field) {
                problems.push(Problem { source: self.source(&key), key, message });
            }
            if !is_repaired {
                break;
            }
        }
        problems
    }
}

fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

fn message(tree: &Value, schema: &Value, segments: &[Segment], key: &str, error: &str) -> String {
    let Some(schema) = schema::at(segments, schema) else {
        return suggestion::unknown(key);
    };
    let mut tree = tree.clone();
    let Some(value) = node(&mut tree, segments) else {
        return error.to_owned();
    };
    if !schema::matches_type(schema, value) || value.is_number() {
        return format!("{}, found {}", schema::expected(schema), schema::found(value));
    }
    // The message of serde has the value.
    if schema::choices(schema).is_empty() { error.to_owned() } else { schema::expected(schema) }
}

fn node<'a>(tree: &'a mut Value, segments: &[Segment]) -> Option<&'a mut Value> {
    segments.iter().try_fold(tree, |node, segment| match segment {
        Segment::Map { key } => node.get_mut(key),
        Segment::Seq { index } => node.get_mut(index),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}

/// Puts a value in place of a missing one.
fn fill(tree: &mut Value, schema: &Value, segments: &[Segment], field: &str) -> bool {
    let schema = schema::at(segments, schema);
    let is_list = schema.is_some_and(|row| schema::has_type(&row["properties"][field], "array"));
    let Some(Value::Object(row)) = node(tree, segments) else { return false };
    row.insert(field.to_owned(), if is_list { json!([]) } else { json!("-") });
    true
}

/// Removes a value, or puts the default in its place. The items of an array stay where they are,
/// because their sources are known by index.
fn remove(tree: &mut Value, segments: &[Segment]) -> bool {
    let Some((last, parent)) = segments.split_last() else { return false };
    match (last, node(tree, parent)) {
        (Segment::Map { key }, Some(Value::Object(fields))) => {
            fields.remove(key);
            let path: Vec<_> = segments.iter().map(Segment::to_string).collect();
            let path = path.join(".");
            let setting = settings().find(|setting| setting.path == path);
            if let Some(setting) = setting.filter(|setting| !setting.default.is_null()) {
                fields.insert(key.clone(), setting.default.clone());
            }
            true
        }
        (Segment::Seq { .. }, Some(_)) => remove(tree, parent),
        _ => false,
    }
}
