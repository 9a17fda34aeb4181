//! The settings file: TOML, with a table for each section.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Map, Value, json};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Serve, suggestion};
use crate::settings::{
    layer::{Layer, Problem, SettingsFile, Source},
    schema,
    section::{Declared as _, FILE_SUFFIX},
};

/// A settings file.
pub(super) struct File<'a> {
    path: &'a Path,
    text: &'a str,
    pub(super) layer: Layer,
    pub(super) problems: Vec<Problem>,
    /// Whether there is a secret in the file itself.
    pub(super) has_secret: bool,
    /// The environment variables that have secrets.
    pub(super) secret_variables: BTreeSet<String>,
}

impl<'a> File<'a> {
    /// Reads a file. What is wrong in it is among the problems.
    pub(super) fn read(path: &'a Path, text: &'a str) -> Self {
        let (layer, problems, secret_variables) = Default::default();
        let mut file = Self { path, text, layer, problems, has_secret: false, secret_variables };
        match DeTable::parse(text) {
            Ok(root) => file.root(root.get_ref()),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                file.problem(start, "", error.message());
            }
        }
        file
    }

    fn root(&mut self, root: &DeTable<'_>) {
        let schema = schema::json_schema::<Serve>();
        for (name, value) in root {
            let start = name.span().start;
            let section = Serve::sections().iter().find(|section| section.name == name.get_ref());
            match (section, value.get_ref()) {
                (Some(section), DeValue::Table(table)) => {
                    let schema = &schema["properties"][section.name];
                    for (key, value) in self.table(section.name, schema, table) {
                        self.layer.values.insert(format!("{}.{key}", section.name), value);
                    }
                }
                (Some(section), _) => self.problem(start, section.name, "expected a table"),
                (None, _) => {
                    let name = name.get_ref();
                    self.problem(start, name, &suggestion::unknown::<Serve>(name));
                }
            }
        }
    }

    /// Reads a table. Secrets that are elsewhere become objects that [`Written`](super::types) is
    /// read from.
    fn table(&mut self, path: &str, schema: &Value, table: &DeTable<'_>) -> Map<String, Value> {
        let mut values = Map::new();
        for (name, value) in table {
            let start = name.span().start;
            let written = name.get_ref().as_ref();
            let is_secret = |name: &str| schema::is_secret(&schema["properties"][name]);
            let file_of = written.strip_suffix(FILE_SUFFIX).filter(|name| is_secret(name));
            let key = file_of.unwrap_or(written);
            let path = format!("{path}.{key}");
            let schema = &schema["properties"][key];
            let mut value = self.value(&path, schema, value);
            if let Some(text) = value.as_str().filter(|_| is_secret(key)) {
                if file_of.is_some() {
                    value = json!({ "file": text });
                } else if let Some(variable) = text.strip_prefix("env:") {
                    self.secret_variables.insert(variable.to_owned());
                    value = json!({ "env": variable });
                } else {
                    self.has_secret |= !schema::may_show(schema, &value);
                }
            }
            self.has_secret |= value.is_array() && !schema::may_show(schema, &value);
            self.layer.sources.insert(path.clone(), self.source(start));
            if values.insert(key.to_owned(), value).is_some() {
                let message = format!("{key} and {key}{FILE_SUFFIX} exclude each other");
                self.problem(start, &path, &message);
            }
        }
        values
    }

    fn value(&mut self, path: &str, schema: &Value, value: &Spanned<DeValue<'_>>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(Value::Null, Value::from),
            DeValue::Float(number) => {
                number.as_str().parse::<f64>().map_or(Value::Null, Value::from)
            }
            DeValue::Boolean(on) => (*on).into(),
            DeValue::Datetime(time) => time.to_string().into(),
            DeValue::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.item(path, index, schema, item))
                .collect(),
            // A table that may be repeated, but is not: `[auth.jwt]`.
            DeValue::Table(_) if schema::has_type(schema, "array") => {
                [self.item(path, 0, schema, value)].into_iter().collect()
            }
            DeValue::Table(table) if schema::has_type(schema, "object") => {
                self.table(path, schema, table).into()
            }
            DeValue::Table(_) => json!({}),
        }
    }

    fn item(
        &mut self,
        path: &str,
        index: usize,
        schema: &Value,
        item: &Spanned<DeValue<'_>>,
    ) -> Value {
        let path = format!("{path}[{index}]");
        self.layer.sources.insert(path.clone(), self.source(item.span().start));
        self.value(&path, &schema["items"], item)
    }

    fn problem(&mut self, start: usize, key: &str, message: &str) {
        let source = self.source(start);
        self.problems.push(Problem { source, key: key.to_owned(), message: message.to_owned() });
    }

    /// The line at a byte offset.
    fn source(&self, start: usize) -> Source {
        let before = self.text.as_bytes().get(..start).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Source::File { file: SettingsFile::Server, path: self.path.to_owned(), line }
    }
}
