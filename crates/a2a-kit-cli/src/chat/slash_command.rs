//! The commands of a conversation, such as `/new`.

use std::path::{Path, PathBuf};

use rustyline::completion::unescape;

use crate::failure::Failure;

/// A line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlashCommand {
    /// Start a new context.
    New,
    /// Attach a file or URL to the next message.
    Attach(String),
    /// Cancel the task.
    Cancel,
    /// Show the task.
    Task,
    /// Show the agent card.
    Card,
    /// Show events as JSON, or as text again.
    Raw,
    Help,
    Quit,
}

/// The names of the commands, what they take, and what they do.
pub(super) const COMMANDS: [(&str, &str, &str); 8] = [
    ("/new", "", "Start a new context"),
    ("/attach", " <path or URL>", "Attach a file to the next message"),
    ("/cancel", "", "Cancel the current task"),
    ("/task", "", "Show the current task"),
    ("/card", "", "Show the agent card"),
    ("/raw", "", "Show events as JSON, or as text again"),
    ("/help", "", "List the commands"),
    ("/quit", "", "Leave"),
];

impl SlashCommand {
    /// Parses a line that starts with a slash. `None` for a message; two slashes start a message
    /// with one.
    /// Errors: a usage failure for an unknown command, and for an invalid argument.
    pub(super) fn parse(line: &str) -> Result<Option<Self>, Failure> {
        let line = line.trim_end();
        if !line.starts_with('/') || line.starts_with("//") {
            return Ok(None);
        }
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        let command = match name {
            "/new" => Self::New,
            "/attach" if argument.is_empty() => {
                return Err(Failure::usage("/attach: missing path or URL"));
            }
            "/attach" => return Ok(Some(Self::Attach(place(argument)))),
            "/cancel" => Self::Cancel,
            "/task" => Self::Task,
            "/card" => Self::Card,
            "/raw" => Self::Raw,
            "/help" => Self::Help,
            "/quit" | "/exit" => Self::Quit,
            _ => {
                return Err(Failure::usage(format!("unknown command {name:?}"))
                    .with_hint("list the commands with /help; // starts a message with a slash"));
            }
        };
        if !argument.is_empty() {
            return Err(Failure::usage(format!("{name}: unexpected argument {argument:?}")));
        }
        Ok(Some(command))
    }
}

/// The text of a message: without the first of two slashes.
pub(super) fn message_text(line: &str) -> &str {
    if line.starts_with("//") { line.get(1..).unwrap_or_default() } else { line }
}

/// The file or URL of an argument: as it is, if there is such a file, else without quotes and
/// backslashes. `~/` is the home directory, and `-` a file, as standard input is the conversation.
fn place(argument: &str) -> String {
    if argument.contains("://") || Path::new(argument).exists() {
        return in_directory(argument);
    }
    let quoted =
        ['"', '\''].iter().find_map(|quote| argument.strip_prefix(*quote)?.strip_suffix(*quote));
    let escape = if cfg!(windows) { None } else { Some('\\') };
    let argument = quoted.map_or_else(|| unescape(argument, escape), Into::into);
    if let Some(rest) = argument.strip_prefix("~/")
        && let Some(home) = std::env::home_dir()
    {
        return home.join(rest).to_string_lossy().into_owned();
    }
    in_directory(&argument)
}

fn in_directory(place: &str) -> String {
    if place == "-" {
        PathBuf::from(".").join(place).to_string_lossy().into_owned()
    } else {
        place.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_messages() {
        for (line, parsed) in [
            ("hello", None),
            ("a /new", None),
            ("//etc/hosts", None),
            ("/new", Some(SlashCommand::New)),
            ("/quit  ", Some(SlashCommand::Quit)),
            ("/attach  a b.txt", Some(SlashCommand::Attach("a b.txt".into()))),
            ("/attach a\\ b.txt", Some(SlashCommand::Attach("a b.txt".into()))),
            ("/attach \"a b.txt\"", Some(SlashCommand::Attach("a b.txt".into()))),
            ("/attach https://a.b/c", Some(SlashCommand::Attach("https://a.b/c".into()))),
            ("/attach -", Some(SlashCommand::Attach("./-".into()))),
        ] {
            assert_eq!(SlashCommand::parse(line).unwrap(), parsed, "{line}");
        }
        for line in ["/nope", "/attach", "/new x", "/"] {
            assert_eq!(SlashCommand::parse(line).unwrap_err().code.exit(), 2, "{line}");
        }
        assert_eq!(message_text("//etc/hosts"), "/etc/hosts");
        assert_eq!(message_text("a//b"), "a//b");
    }

    #[test]
    fn each_listed_command_is_known() {
        for (name, argument, _) in COMMANDS {
            let line = format!("{name}{argument}");
            assert!(SlashCommand::parse(&line).unwrap().is_some(), "{name}");
        }
    }
}
