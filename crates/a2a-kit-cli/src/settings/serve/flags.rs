//! The flags of `a2a serve`, made from its settings.

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, parser::ValueSource};
use serde_json::Value;

use super::{
    Setting,
    layer::{Layer, Source},
    schema, sections, settings,
};
use crate::{failure::Failure, settings::value};

/// The flag that is short for `--protocol 1.0`.
const NO_COMPAT: &str = "no_compat";

/// Adds the flags to the commands that run a server.
pub(crate) fn with_flags(tree: Command) -> Command {
    let globals: Vec<_> =
        tree.get_arguments().filter_map(Arg::get_long).map(str::to_owned).collect();
    ["serve", "demo-server"].into_iter().fold(tree, |tree, command| {
        tree.mut_subcommand(command, |command| {
            sections().iter().fold(command, |command, section| {
                let flags = section.settings.iter().filter_map(argument);
                let flags = flags.filter(|flag| {
                    !flag.get_long().is_some_and(|long| globals.iter().any(|one| one == long))
                });
                let command = command.args(flags.map(|flag| flag.help_heading(section.title)));
                if section.name != "listen" {
                    return command;
                }
                let no_compat = Arg::new(NO_COMPAT)
                    .long("no-compat")
                    .help("Serve protocol version 1.0 only, as --protocol 1.0 does")
                    .help_heading(section.title);
                command.arg(switch(no_compat))
            })
        })
    })
}

fn argument(setting: &Setting) -> Option<Arg> {
    let flag = setting.flag?.strip_prefix("--")?;
    let help = setting.help.replace('\n', " ");
    let (_, last_word) = flag.rsplit_once('-').unwrap_or(("", flag));
    let mut argument = Arg::new(setting.path)
        .help(if setting.default == true { format!("Disable {}", lower_case(&help)) } else { help })
        .hide_short_help(setting.is_advanced)
        .value_name(last_word.to_ascii_uppercase());
    if flag.is_empty() {
        return Some(argument.last(true).num_args(1..).value_name("PROGRAM"));
    }
    argument = argument.long(flag);
    let schema = &setting.schema;
    if schema::has_type(schema, "boolean") {
        return Some(switch(argument));
    }
    let item = schema.get("items").unwrap_or(schema);
    let choices: Vec<_> = schema::choices(item).into_iter().map(str::to_owned).collect();
    if !choices.is_empty() {
        argument = argument.value_parser(choices).ignore_case(schema["type"] == "array");
    }
    if let Some(title) = item["title"].as_str() {
        argument = argument.value_name(title.to_ascii_uppercase());
    } else if setting.key.ends_with("_file") {
        argument = argument.value_name("FILE").value_hint(ValueHint::FilePath);
    } else if schema::has_type(item, "integer") {
        argument = argument.value_name("N");
    }
    Some(match &setting.default {
        // Without a value, it is the agent of -a or -e.
        _ if setting.path == "proxy.to" => argument.num_args(0..=1).default_missing_value(""),
        Value::Array(items) => {
            let argument = argument.action(ArgAction::Append);
            let default = items.iter().filter_map(Value::as_str).map(str::to_owned);
            let argument = argument.default_values(default);
            // Only names without commas can be separated by them.
            if item["enum"].is_array() { argument.value_delimiter(',') } else { argument }
        }
        Value::String(text) => argument.default_value(text.clone()),
        Value::Number(number) => argument.default_value(number.to_string()),
        _ => argument,
    })
}

/// Help text in the middle of a sentence.
fn lower_case(help: &str) -> String {
    let mut letters = help.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A flag that may be switched off, as `--echo=false`, where another source switches it on.
fn switch(argument: Arg) -> Arg {
    argument.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("BOOL")
}

/// Reads the flags.
///
/// # Errors
///
/// A usage failure for `--no-compat` beside `--protocol`.
pub(super) fn layer(matches: &ArgMatches) -> Result<Layer, Failure> {
    let mut layer = Layer::default();
    for setting in settings() {
        let Some(flag) = setting.flag else { continue };
        // Flags that every command has are known by their own names.
        let own = flag.trim_start_matches("--").replace('-', "_");
        let is_own = matches.try_contains_id(setting.path).is_ok();
        let id = if is_own { setting.path } else { own.as_str() };
        let Some(texts) = texts(matches, id) else { continue };
        let value = match (value(setting, texts.iter().map(String::as_str)), &setting.default) {
            // The flag switches off what is on by default.
            (Value::Bool(on), Value::Bool(true)) => Value::Bool(!on),
            (value, _) => value,
        };
        layer.insert(setting.path, value, Source::Flag(flag.to_owned()));
    }
    let no_compat = texts(matches, NO_COMPAT).and_then(|texts| texts.into_iter().next());
    if no_compat.is_some_and(|text| value::switch(&text) == Ok(true)) {
        if layer.values.contains_key("listen.protocol") {
            return Err(Failure::usage("--no-compat and --protocol exclude each other"));
        }
        let source = Source::Flag("--no-compat".to_owned());
        layer.insert("listen.protocol", serde_json::json!(["1.0"]), source);
    }
    Ok(layer)
}

fn texts(matches: &ArgMatches, id: &str) -> Option<Vec<String>> {
    let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
    let texts = matches.get_raw(id).filter(|_| is_given)?;
    Some(texts.map(|text| text.to_string_lossy().into_owned()).collect())
}

/// The value of a setting as it would be in the file. What can't be read stays a string, which is
/// reported as a string in the wrong place.
pub(super) fn value<'a>(setting: &Setting, texts: impl Iterator<Item = &'a str>) -> Value {
    let schema = &setting.schema;
    if schema::has_type(schema, "array") {
        return texts.map(Value::from).collect();
    }
    let text = texts.collect::<Vec<_>>().join(",");
    let value = match schema {
        schema if schema::has_type(schema, "boolean") => value::switch(&text).ok().map(Value::from),
        schema if schema::has_type(schema, "integer") => text.parse::<u64>().ok().map(Value::from),
        _ => None,
    };
    value.unwrap_or_else(|| text.into())
}
