//! Prints the settings of a server: as a settings file, or as JSON.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{Serve, layered::LayeredSettings, types::Written};
use crate::{
    failure::Failure,
    output::Output,
    settings::{
        document,
        layer::Source,
        schema,
        section::{Declared as _, FILE_SUFFIX, Setting},
    },
};

const HEAD: &str = "\
# Settings of `a2a serve` with their sources. With --settings, this file gives the same settings
# again, except for secrets shown as (set).
";

impl LayeredSettings {
    /// Prints the settings: as TOML, or with `-o json` as the list of `a2a config show`.
    pub(crate) fn print(&self, output: Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(&self.to_json());
        }
        output.write(self.to_toml().as_bytes())
    }

    fn value<'a>(&'a self, setting: &'a Setting) -> &'a Value {
        self.layer.values.get(setting.path).unwrap_or(&setting.default)
    }

    /// The rows of a table that may be repeated, with their sources.
    fn rows<'a>(
        &'a self,
        table: &'a Setting,
    ) -> impl Iterator<Item = (&'a Map<String, Value>, Source)> {
        let rows = self.value(table).as_array().into_iter().flatten().enumerate();
        rows.filter_map(|(index, row)| {
            Some((row.as_object()?, self.layer.source(&format!("{}[{index}]", table.path))))
        })
    }

    fn to_toml(&self) -> String {
        let mut lines = vec![HEAD.to_owned()];
        for section in Serve::sections() {
            lines.push(format!("\n# {}\n[{}]\n", section.title, section.name));
            for setting in section.settings.iter().filter(|setting| !setting.is_table()) {
                lines.push(match self.value(setting) {
                    Value::Null => format!("# {} is not set\n", setting.key),
                    value => {
                        let line = line(setting.key, &setting.schema, value);
                        format!("{line} # {}\n", self.layer.source(setting.path))
                    }
                });
            }
            for table in section.settings.iter().filter(|setting| setting.is_table()) {
                for (row, source) in self.rows(table) {
                    lines.push(format!("\n[[{}]] # {source}\n", table.path));
                    let schema = &table.schema["items"]["properties"];
                    let of_row = row.iter().map(|(key, value)| line(key, &schema[key], value));
                    lines.extend(of_row.map(|line| format!("{line}\n")));
                }
            }
        }
        lines.concat()
    }

    fn to_json(&self) -> Value {
        let mut all = Vec::new();
        for setting in Serve::settings() {
            if !setting.is_table() {
                let value = shown(&setting.schema, self.value(setting));
                all.push(document(setting.path, value, &self.layer.source(setting.path)));
            }
            for (row, source) in self.rows(setting) {
                let schema = &setting.schema["items"]["properties"];
                let row = row.iter().map(|(key, value)| (key.clone(), shown(&schema[key], value)));
                all.push(document(setting.path, row.collect::<Map<_, _>>(), &source));
            }
        }
        json!({ "settings": all })
    }
}

/// A line of the settings file. Secrets are shown by their location.
fn line(key: &str, schema: &Value, value: &Value) -> String {
    let toml =
        |value| toml::Value::try_from(value).map_or_else(|_| String::new(), |one| one.to_string());
    if let Some(name) = value.get("env").and_then(Value::as_str) {
        return format!("{key} = {}", toml(&Value::from(format!("env:{name}"))));
    }
    match value.get("file") {
        Some(file) => format!("{key}{FILE_SUFFIX} = {}", toml(file)),
        None if schema::may_show(schema, value) => format!("{key} = {}", toml(value)),
        None => format!("# {key} = (set)"),
    }
}

/// A value in JSON, which for an address is what its variable or file has.
fn shown(schema: &Value, value: &Value) -> Value {
    let read = |value| Written::deserialize(value).ok()?.read().ok().map(Value::from);
    let value = if value.is_object() { read(value) } else { None }.unwrap_or_else(|| value.clone());
    if value.is_null() || schema::may_show(schema, &value) { value } else { "(set)".into() }
}
