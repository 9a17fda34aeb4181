//! The settings file: TOML, with a table for each section.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    FILE_SUFFIX,
    layer::{Layer, Problem, Source},
    schema, sections,
};
use crate::failure::Failure;

/// Reads a settings file.
///
/// # Errors
///
/// A usage failure for a file that can't be read. Everything else is among the problems.
pub(super) fn read(path: &Path) -> Result<(Layer, Vec<Problem>), Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("failed to read --settings {}: {error}", path.display()))
    })?;
    let mut reader = Reader { path, text: &text, layer: Layer::default(), problems: Vec::new() };
    match DeTable::parse(&text) {
        Ok(root) => reader.root(root.get_ref()),
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            reader.problem(start, "", error.message());
        }
    }
    Ok((reader.layer, reader.problems))
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    layer: Layer,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn root(&mut self, root: &DeTable<'_>) {
        let schema = schema::json_schema();
        for (name, value) in root {
            let start = name.span().start;
            let section = sections().iter().find(|section| section.name == name.get_ref());
            match (section, value.get_ref()) {
                (Some(section), DeValue::Table(table)) => {
                    let schema = &schema["properties"][section.name];
                    for (key, value) in self.table(section.name, schema, table) {
                        self.layer.values.insert(format!("{}.{key}", section.name), value);
                    }
                }
                (Some(section), _) => {
                    self.problem(start, section.name, &format!("expected a table"));
                }
                (None, _) => {
                    let message = super::suggestion::unknown(name.get_ref());
                    self.problem(start, name.get_ref(), &message);
                }
            }
        }
    }

    /// Reads a table. Secrets that are elsewhere become what [`Location`](super::secret::Location)
    /// is read from.
    fn table(&mut self, path: &str, schema: &Value, table: &DeTable<'_>) -> Map<String, Value> {
        let mut values = Map::new();
        for (name, value) in table {
            let start = name.span().start;
            let written = name.get_ref().as_ref();
            let is_secret = |name: &str| schema::is_secret(&schema["properties"][name]);
            let file_of = written.strip_suffix(FILE_SUFFIX).filter(|name| is_secret(name));
            let key = file_of.unwrap_or(written);
            let path = format!("{path}.{key}");
            let value = self.value(&path, &schema["properties"][key], value);
            let value = match value.as_str() {
                Some(file) if file_of.is_some() => json!({ "file": file }),
                Some(text) if is_secret(key) => match text.strip_prefix("env:") {
                    Some(variable) => json!({ "env": variable }),
                    None => value,
                },
                _ => value,
            };
            self.layer.sources.insert(path.clone(), self.source(start));
            if values.insert(key.to_owned(), value).is_some() {
                self.problem(
                    start,
                    &path,
                    &format!("{key} and {key}{FILE_SUFFIX} exclude each other"),
                );
            }
        }
        values
    }

    fn value(&mut self, path: &str, schema: &Value, value: &Spanned<DeValue<'_>>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => Value::from(text.as_ref()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or(Value::Null, Value::from),
            DeValue::Float(number) => {
                number.as_str().parse::<f64>().map_or(Value::Null, Value::from)
            }
            DeValue::Boolean(on) => Value::from(*on),
            DeValue::Datetime(time) => Value::from(time.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.item(path, index, schema, item)).collect()
            }
            // A table that may be repeated, but is not: `[auth.jwt]`.
            DeValue::Table(_) if schema::has_type(schema, "array") => {
                Value::from(vec![self.item(path, 0, schema, value)])
            }
            DeValue::Table(table) => self.table(path, schema, table).into(),
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
        match item.get_ref() {
            DeValue::Table(table) => self.table(&path, &schema["items"], table).into(),
            _ => self.value(&path, &schema["items"], item),
        }
    }

    fn problem(&mut self, start: usize, key: &str, message: &str) {
        let source = self.source(start);
        self.problems.push(Problem { source, key: key.to_owned(), message: message.to_owned() });
    }

    /// The line at a byte offset.
    fn source(&self, start: usize) -> Source {
        let before = self.text.as_bytes().get(..start).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Source::File { path: self.path.to_owned(), line }
    }
}
