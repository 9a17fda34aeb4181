//! The effective settings, as `config show`, `serve --print-settings` and `--help` list them.

use serde_json::{Value, json};

use super::{
    Settings,
    client::Client,
    layer::{Layer, Source},
    section::{Declared, Setting},
};
use crate::output::escaped;

/// The effective value of a setting, for display.
pub(crate) struct Effective {
    /// The long name of the flag.
    pub(crate) name: &'static str,
    /// `None` if it is not set and has no default.
    pub(crate) value: Option<String>,
    /// The value, or what applies instead.
    pub(crate) text: String,
    pub(crate) source: Source,
}

impl Effective {
    fn of(setting: &Setting, layer: &Layer) -> Self {
        let text = |value: &Value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        };
        let value = match layer.values.get(setting.path).unwrap_or(&setting.default) {
            Value::Null => None,
            Value::Array(items) if items.is_empty() => None,
            Value::Array(items) => Some(items.iter().map(text).collect::<Vec<_>>().join(",")),
            value => Some(text(value)),
        };
        Self {
            name: setting.path,
            text: value.clone().unwrap_or_else(|| setting.otherwise().to_owned()),
            value,
            source: layer.source(setting.path),
        }
    }

    /// Where the value comes from, without the line of a file.
    pub(crate) fn place(&self) -> String {
        match self.source.path() {
            Some(path) => format!("{} {}", self.source.name(), path.display()),
            None => self.source.name().to_owned(),
        }
    }
}

/// A setting as an item of a JSON list.
pub(crate) fn document(name: &str, value: impl Into<Value>, source: &Source) -> Value {
    let path = source.path().map(|path| path.display().to_string());
    json!({ "name": name, "value": value.into(), "source": source.name(), "path": path })
}

impl Settings {
    /// All settings, in the order of the help.
    pub(crate) fn effective(&self) -> impl Iterator<Item = Effective> {
        Client::settings().map(|setting| Effective::of(setting, &self.layer))
    }

    /// The end of `--help`: the settings that have a value, and what applies instead of others.
    pub(crate) fn defaults(&self) -> String {
        let mut text = "Effective defaults:".to_owned();
        for setting in self.effective() {
            if setting.name != "agent-card" && setting.text == "none" {
                continue;
            }
            text.push_str(&format!("\n  {:<19}{}", setting.name, escaped(&setting.text)));
            if setting.source != Source::Default {
                text.push_str(&format!(" ({})", escaped(&setting.place())));
            }
        }
        text
    }
}
