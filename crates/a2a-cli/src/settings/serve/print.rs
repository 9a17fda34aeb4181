//! Prints the settings of a server: as a settings file, or as JSON.

use serde_json::{Map, Value, json};

use super::{
    FILE_SUFFIX,
    layer::Source,
    layered::{LayeredSettings, may_show},
    secret::Location,
    sections, settings,
};
use crate::{failure::Failure, output::Output};

const HEAD: &str = "\
# Settings of `a2a serve` with their sources. With --settings, this file gives the same settings
# again, except for secrets shown as (set).
";

impl LayeredSettings {
    /// Prints the settings: as TOML, or with `-o json` as the list of `a2a config show`.
    ///
    /// # Errors
    ///
    /// The output is closed.
    pub(crate) fn print(&self, output: Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(&self.to_json());
        }
        output.write(self.to_toml().as_bytes())
    }

    fn to_toml(&self) -> String {
        let mut text = HEAD.to_owned();
        for section in sections() {
            let (name, title) = (section.name, section.title);
            text.push_str(&format!("\n# {title}\n[{name}]\n"));
            let (tables, keys): (Vec<_>, Vec<_>) =
                section.settings.iter().partition(|setting| setting.flag.is_none());
            for setting in keys {
                let value = self.layer.values.get(setting.path).unwrap_or(&setting.default);
                match value {
                    Value::Null => text.push_str(&format!("# {} is not set\n", setting.key)),
                    value => {
                        let line = line(setting.key, &setting.schema, value);
                        let source = self.layer.source(setting.path);
                        text.push_str(&format!("{line} # {source}\n"));
                    }
                }
            }
            for table in tables {
                let rows = self.layer.values.get(table.path).and_then(Value::as_array);
                for (index, row) in rows.into_iter().flatten().enumerate() {
                    let path = table.path;
                    let source = self.layer.source(&format!("{path}[{index}]"));
                    text.push_str(&format!("\n[[{path}]] # {source}\n"));
                    let properties = &table.schema["items"]["properties"];
                    for (key, value) in row.as_object().into_iter().flatten() {
                        text.push_str(&line(key, &properties[key], value));
                        text.push('\n');
                    }
                }
            }
        }
        text
    }

    fn to_json(&self) -> Value {
        let mut shown = Vec::new();
        for setting in settings() {
            let value = self.layer.values.get(setting.path).unwrap_or(&setting.default);
            let mut show = |value: Value, source: Source| {
                let (word, path) = match &source {
                    Source::Default => ("default", None),
                    Source::File { path, .. } => ("file", Some(path.display().to_string())),
                    Source::Variable(_) => ("env", None),
                    Source::Flag(_) => ("flag", None),
                };
                let name = setting.path;
                shown.push(json!({ "name": name, "value": value, "source": word, "path": path }));
            };
            match (setting.flag, value) {
                (Some(_), value) => {
                    show(shown_value(&setting.schema, value), self.layer.source(setting.path));
                }
                (None, rows) => {
                    for (index, row) in rows.as_array().into_iter().flatten().enumerate() {
                        let properties = &setting.schema["items"]["properties"];
                        let fields = row.as_object().into_iter().flatten();
                        let fields: Map<_, _> = fields
                            .map(|(key, value)| (key.clone(), shown_value(&properties[key], value)))
                            .collect();
                        let source = self.layer.source(&format!("{}[{index}]", setting.path));
                        show(fields.into(), source);
                    }
                }
            }
        }
        json!({ "settings": shown })
    }
}

/// A line of the settings file. Secrets are shown by their location.
fn line(key: &str, schema: &Value, value: &Value) -> String {
    match value {
        Value::Object(location) => match (location.get("env"), location.get("file")) {
            (Some(Value::String(name)), _) => {
                format!("{key} = {}", toml(&format!("env:{name}").into()))
            }
            (_, Some(file)) => format!("{key}{FILE_SUFFIX} = {}", toml(file)),
            _ => format!("# {key} = (set)"),
        },
        value if may_show(schema, value) => format!("{key} = {}", toml(value)),
        _ => format!("# {key} = (set)"),
    }
}

fn toml(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_no_toml| String::new(), |value| value.to_string())
}

fn shown_value(schema: &Value, value: &Value) -> Value {
    use serde::Deserialize as _;

    let text = match value {
        Value::Object(_) => Location::deserialize(value).ok().and_then(|one| one.read().ok()),
        _ => None,
    };
    let value = text.map_or_else(|| value.clone(), Value::from);
    if value.is_null() || may_show(schema, &value) { value } else { "(set)".into() }
}
