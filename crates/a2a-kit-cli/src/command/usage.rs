//! Invalid command lines, help and version.

use std::{error::Error as _, ffi::OsString, process::ExitCode};

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::cli::Cli;
use crate::{
    failure::{Code, Failure},
    output::Output,
    settings::{
        Layers,
        serve::{is_similar, renamed_flag},
        value::{self, Format},
    },
};

/// The requested output format, found without parsing the rest of the command line.
pub(super) fn format(arguments: &[OsString], layers: &Layers) -> Format {
    let asked = value_of(arguments, Some("-o"), "--output");
    asked
        .and_then(|text| value::format(text).ok())
        .or_else(|| layers.read_output())
        .unwrap_or_default()
}

/// The last value of a flag, found without parsing the rest of the command line.
pub(super) fn value_of<'a>(
    arguments: &'a [OsString],
    short: Option<&str>,
    long: &str,
) -> Option<&'a str> {
    let mut arguments = arguments.iter().filter_map(|argument| argument.to_str());
    let mut last = None;
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            break;
        }
        let attached = || {
            let long = argument.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
            long.or_else(|| argument.strip_prefix(short?))
        };
        let is_flag = argument == long || Some(argument) == short;
        let value = if is_flag { arguments.next() } else { attached() };
        last = value.or(last);
    }
    last
}

/// Prints help, the version, or the error in the command line.
pub(super) fn report(error: &clap::Error, output: Output) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _gone = output.write(error.render().to_string().as_bytes());
        return ExitCode::SUCCESS;
    }
    output.failure(&failure(error));
    ExitCode::from(Code::Usage.exit())
}

/// The failure for an invalid command line.
pub(super) fn failure(error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::usage("missing command").with_hint("see --help");
    }
    if let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
        && let Some(new) = renamed_flag(flag).filter(|_| is_of_serve(error))
    {
        return Failure::usage(format!("{flag} was renamed to {new}"));
    }
    if let Some(failure) = secret_value(error) {
        return failure;
    }
    let rendered = error.render().to_string();
    let paragraph = rendered.split("\n\n").next().unwrap_or(&rendered);
    let lines: Vec<_> = paragraph.lines().map(str::trim).collect();
    let message = lines.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let hint = equivalent(error).or_else(|| suggestion(error));
    let hint = hint.unwrap_or_else(|| "see --help".to_owned());
    Failure::usage(message).with_hint(hint)
}

/// Flags whose values may be secrets.
const SECRET_FLAGS: [&str; 6] =
    ["--svc-param", "--bearer", "--api-key", "--basic", "--push-token", "--push-auth"];

/// The failure for an invalid value of a flag that may be a secret: without the value.
fn secret_value(error: &clap::Error) -> Option<Failure> {
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let flag = argument.split(' ').next().filter(|flag| SECRET_FLAGS.contains(flag))?;
    let reason = error.source().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(Failure::usage(format!("invalid value for {flag}{reason}")).with_hint("see --help"))
}

/// Flags of other tools, with their equivalents here: of clients, and of `serve`.
const FOREIGN_FLAGS: [(&[&str], &str, &str); 9] = [
    (&["token", "auth", "auth-token"], "--bearer", "--require-bearer"),
    (&["listen", "bind", "addr", "address"], "", "--host and --port"),
    (&["cert", "certificate"], "--client-cert", "--tls-cert"),
    (&["key", "private-key"], "--client-key", "--tls-key"),
    (&["ca", "cacert", "ca-file"], "--ca-cert", "--ca-cert"),
    (&["db", "database", "data"], "", "--store"),
    (&["url", "agent", "server"], "--agent-card", "--public-url"),
    (&["config-file", "env-file"], "--config", "--settings"),
    (&["header", "headers"], "--svc-param", ""),
];

/// The equivalent of a flag of another tool.
fn equivalent(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let name = flag.trim_start_matches('-');
    let (_, client, server) = FOREIGN_FLAGS.iter().find(|(names, ..)| names.contains(&name))?;
    let flag = if is_of_serve(error) { server } else { client };
    (!flag.is_empty()).then(|| format!("did you mean {flag}? see --help"))
}

fn is_of_serve(error: &clap::Error) -> bool {
    error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains("a2a serve"))
}

/// Returns whether a word is a command that help does not list, or its alias.
fn is_hidden(name: &str) -> bool {
    Cli::command().find_subcommand(name).is_some_and(clap::Command::is_hide_set)
}

/// A similar flag, command or value.
fn suggestion(error: &clap::Error) -> Option<String> {
    let written = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) => Some(flag.trim_start_matches('-')),
        _ => None,
    };
    // A flag with little similarity would mislead.
    let helps = |suggestion: &&str| {
        let flag = suggestion.strip_prefix("--");
        flag.zip(written).is_none_or(|(flag, written)| is_similar(flag, written))
    };
    for kind in
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
    {
        let suggestion = match error.get(kind) {
            Some(ContextValue::String(suggestion)) => Some(suggestion.as_str()),
            // The most similar is the last.
            Some(ContextValue::Strings(suggestions)) => {
                suggestions.iter().rev().map(String::as_str).find(|name| !is_hidden(name))
            }
            _ => None,
        };
        if let Some(suggestion) = suggestion.filter(helps) {
            return Some(format!("did you mean {suggestion}? see --help"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_found_in_an_otherwise_invalid_command_line() {
        for (line, format_asked) in [
            ("a2a send --nope -o json", Format::Json),
            ("a2a -ojson", Format::Json),
            ("a2a --output=json x", Format::Json),
            ("a2a --output json", Format::Json),
            ("a2a --nope", Format::Text),
            ("a2a serve -- -o json", Format::Text),
        ] {
            let arguments: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(format(&arguments, &Layers::default()), format_asked, "{line}");
        }
        let environment = [("A2ACLI_OUTPUT".to_owned(), "json".to_owned())].into_iter().collect();
        assert_eq!(format(&[], &Layers::of_environment(&environment)), Format::Json);
    }

    #[test]
    fn last_value_of_a_flag_is_found_in_each_notation() {
        for (line, expected) in [
            ("a2a -a one card get", Some("one")),
            ("a2a -aone card get --agent-card two", Some("two")),
            ("a2a --agent-card=one", Some("one")),
            ("a2a --agent-cards=one", None),
            ("a2a serve -- -a one", None),
            ("a2a card get -a", None),
        ] {
            let arguments: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(value_of(&arguments, Some("-a"), "--agent-card"), expected, "{line}");
        }
    }
}
