//! Flags, made from the declared settings.

use clap::{Arg, ArgAction, ArgMatches, ValueHint, parser::ValueSource};
use serde_json::Value;

use super::{
    layer::{Layer, Source},
    schema,
    section::{Section, Setting},
    value,
};

/// The flags of a section, below its title.
pub(crate) fn arguments(section: &'static Section) -> impl Iterator<Item = Arg> {
    let flags = section.settings.iter().filter_map(argument);
    flags.map(|flag| flag.help_heading(section.title))
}

fn argument(setting: &Setting) -> Option<Arg> {
    let flag = setting.flag?;
    let help = setting.help.replace('\n', " ");
    let mut argument = Arg::new(setting.path)
        .help(if setting.default == true { format!("Disable {}", lower_case(&help)) } else { help })
        .hide_short_help(setting.is_advanced);
    let schema = &setting.schema;
    let item = schema.get("items").unwrap_or(schema);
    if let Some(title) = item["title"].as_str() {
        argument = argument.value_name(title.to_ascii_uppercase());
    } else if setting.key.ends_with("_file") {
        argument = argument.value_name("FILE").value_hint(ValueHint::FilePath);
    } else if schema::has_type(item, "integer") {
        argument = argument.value_name("N");
    }
    for word in setting.usage.split(' ') {
        let name = word.trim_matches(['-', '<', '>', '[', ']']);
        argument = match word {
            "--" => argument.last(true).num_args(1..),
            _ if word == flag => argument.long(name.to_owned()),
            _ if word.starts_with("--") => argument.alias(name.to_owned()),
            _ if word.starts_with('-') => argument.short(name.chars().next()),
            "<FILE>" => argument.value_name(name).value_hint(ValueHint::FilePath),
            _ if word.starts_with('[') => {
                argument.value_name(name).num_args(0..=1).default_missing_value("")
            }
            _ => argument.value_name(name),
        };
    }
    if schema::has_type(schema, "boolean") {
        return Some(switch(argument));
    }
    let choices: Vec<_> = schema::choices(item).into_iter().map(str::to_owned).collect();
    if !choices.is_empty() {
        argument = argument.value_parser(choices).ignore_case(schema["type"] == "array");
    }
    Some(match &setting.default {
        Value::Array(items) => {
            let argument = argument.action(ArgAction::Append);
            let default = items.iter().filter_map(Value::as_str).map(str::to_owned);
            let argument = argument.default_values(default);
            if may_be_separated(item) { argument.value_delimiter(',') } else { argument }
        }
        Value::String(text) => argument.default_value(text.clone()),
        Value::Number(number) => argument.default_value(number.to_string()),
        _ => argument,
    })
}

/// Whether items may be separated by commas: those that can't contain one.
fn may_be_separated(item: &Value) -> bool {
    item["enum"].is_array() || item["title"].is_string()
}

/// Help text in the middle of a sentence.
fn lower_case(help: &str) -> String {
    let mut letters = help.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A flag that may be switched off, as `--echo=false`, where another source switches it on.
pub(crate) fn switch(argument: Arg) -> Arg {
    argument.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("BOOL")
}

/// Reads the flags.
pub(crate) fn layer(
    settings: impl Iterator<Item = &'static Setting>,
    matches: &ArgMatches,
) -> Layer {
    let mut layer = Layer::default();
    for setting in settings {
        let Some(flag) = setting.flag else { continue };
        // Flags that every command has are known by their own names.
        let is_own = matches.try_contains_id(setting.path).is_ok();
        let id = if is_own { setting.path } else { flag.trim_start_matches("--") };
        let Some(texts) = texts(matches, id) else { continue };
        let value = match (value(setting, texts), &setting.default) {
            // The flag switches off what is on by default.
            (Value::Bool(on), Value::Bool(true)) => Value::Bool(!on),
            (value, _) => value,
        };
        layer.insert(setting.path, value, Source::Flag(flag.to_owned()));
    }
    layer
}

/// The values of a flag of the command line.
pub(super) fn texts(matches: &ArgMatches, id: &str) -> Option<Vec<String>> {
    let is_known = matches.try_contains_id(id).is_ok();
    let is_given = is_known && matches.value_source(id) == Some(ValueSource::CommandLine);
    let texts = if is_given { matches.get_raw(id) } else { None }?;
    let texts: Vec<_> = texts.map(|text| text.to_string_lossy().into_owned()).collect();
    // A value is missing at the end of a command line that can't be parsed.
    (!texts.is_empty()).then_some(texts)
}

/// The value of a setting from the text of a variable, in which commas separate items. Secrets may
/// contain commas: several are a JSON array.
pub(super) fn value_of_text(setting: &Setting, text: &str) -> Value {
    let items = &setting.schema["items"];
    let array = || serde_json::from_str(text).ok().filter(|_| text.starts_with('['));
    let texts = match array() {
        Some(texts) if !items.is_null() => texts,
        _ if items.is_null() || schema::is_secret(items) => vec![text.to_owned()],
        _ => text.split(',').map(|one| one.trim().to_owned()).collect(),
    };
    value(setting, texts)
}

/// The value of a setting as it would be in the file. What can't be read stays a string, which is
/// reported as a string in the wrong place.
fn value(setting: &Setting, mut texts: Vec<String>) -> Value {
    let schema = &setting.schema;
    if schema::has_type(schema, "array") {
        return texts.into();
    }
    let text = texts.pop().unwrap_or_default();
    let value = match schema {
        schema if schema::has_type(schema, "boolean") => value::switch(&text).ok().map(Value::from),
        schema if schema::has_type(schema, "integer") => text.parse::<u64>().ok().map(Value::from),
        schema if schema::has_type(schema, "number") => text.parse::<f64>().ok().map(Value::from),
        _ => None,
    };
    value.unwrap_or_else(|| text.into())
}
