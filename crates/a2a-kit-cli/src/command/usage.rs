//! Invalid command lines, help and version.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::cli::{Cli, tree};
use crate::{
    failure::{Code, Failure},
    output::Output,
    settings::{
        Directories, Environment, Settings, Sources,
        serve::{Serve, TEST_AGENT, is_of_test_agent, is_similar, renamed_flag},
    },
};

/// Prints help, the version, or the error in the command line. Help ends with the effective defaults,
/// unless a setting is invalid, which is reported when a command runs.
pub(super) fn report(
    error: clap::Error,
    arguments: &[OsString],
    environment: &Environment,
    directories: &Directories,
) -> ExitCode {
    let (flags, config) = scan(arguments);
    let with_flags = |mut sources: Sources| {
        sources.layer.merge(flags.layer.clone());
        sources
    };
    let sources = Sources::read(environment, directories, config.as_deref());
    let sources = sources.and_then(|sources| with_flags(sources).with_agent());
    let without_files = with_flags(Sources::of_environment(environment));
    let output = Output::plain(sources.as_ref().unwrap_or(&without_files).format());
    let text = match error.kind() {
        ErrorKind::DisplayHelp => {
            let settings = sources.and_then(|sources| Settings::resolve(&sources, false));
            let help = settings.ok().and_then(|settings| {
                with_defaults(tree(), &settings.defaults()).try_get_matches_from(arguments).err()
            });
            help.unwrap_or(error).render()
        }
        ErrorKind::DisplayVersion => error.render(),
        _ => {
            output.failure(&failure(&error));
            return ExitCode::from(Code::Usage.exit());
        }
    };
    let _gone = output.write(text.to_string().as_bytes());
    ExitCode::SUCCESS
}

/// Appends the defaults to the help of a command and of its subcommands.
fn with_defaults(command: clap::Command, defaults: &str) -> clap::Command {
    let help = match command.get_after_help() {
        Some(notes) => format!("{notes}\n\n{defaults}"),
        None => defaults.to_owned(),
    };
    command.mut_subcommands(|command| with_defaults(command, defaults)).after_help(help)
}

/// Reads the global flags of a command line that can't be parsed. Only a command knows its own words,
/// so parsing starts again at each flag, and ends at the first other word.
fn scan(arguments: &[OsString]) -> (Sources, Option<PathBuf>) {
    let tree = tree();
    let scanner = clap::Command::new("a2a")
        .ignore_errors(true)
        .args_override_self(true)
        .disable_help_flag(true)
        .args(tree.get_arguments().filter(|argument| argument.is_global_set()));
    let (mut sources, mut config) = (Sources::default(), None);
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let is_flag = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    for start in (1..end).filter(|start| arguments.get(*start).is_some_and(is_flag)) {
        // The word before the flag is skipped, as the name of the program.
        let words = arguments.get(start - 1..end).unwrap_or_default();
        let Ok(mut matches) = scanner.clone().try_get_matches_from(words) else { continue };
        sources = sources.with_flags(&matches);
        config = matches.remove_one("config").or(config);
    }
    (sources, config)
}

/// The failure for an invalid command line.
fn failure(error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::usage("missing command").with_hint("see --help");
    }
    if let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
        && is_of_serve(error)
    {
        if let Some(new) = renamed_flag::<Serve>(flag) {
            return Failure::usage(format!("{flag} was renamed to {new}"));
        }
        if is_of_test_agent(flag) {
            return Failure::usage(format!("`a2a serve` has no {flag}")).with_hint(TEST_AGENT);
        }
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
    use crate::settings::value::Format;

    fn scanned(line: &str) -> Sources {
        scan(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).0
    }

    #[test]
    fn format_is_found_in_an_otherwise_invalid_command_line() {
        for (line, format_asked) in [
            ("a2a send --nope -o json", Format::Json),
            ("a2a -ojson", Format::Json),
            ("a2a --output=json x", Format::Json),
            ("a2a --output json", Format::Json),
            ("a2a task list --page-size 0 --nope=1 -x -o json", Format::Json),
            ("a2a --nope", Format::Text),
            ("a2a serve -- -o json", Format::Text),
            ("a2a serve -- x -o json", Format::Text),
        ] {
            assert_eq!(scanned(line).format(), format_asked, "{line}");
        }
        let environment = [("A2ACLI_OUTPUT".to_owned(), "json".to_owned())].into_iter().collect();
        assert_eq!(Sources::of_environment(&environment).format(), Format::Json);
    }

    #[test]
    fn last_value_of_a_flag_is_found_in_each_notation() {
        for (line, expected) in [
            ("a2a -a one card get", Some("one")),
            ("a2a -aone card get --agent-card two", Some("two")),
            ("a2a -aone -a two card get", Some("two")),
            ("a2a --agent-card=one", Some("one")),
            ("a2a --agent-cards=one", None),
            ("a2a serve -- -a one", None),
            ("a2a card get -a", None),
        ] {
            assert_eq!(scanned(line).layer.text("agent-card"), expected, "{line}");
        }
    }
}
