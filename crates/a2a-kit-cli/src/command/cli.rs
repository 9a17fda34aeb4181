//! The command line: the global flags and the commands.

use std::path::PathBuf;

use clap::{Arg, ArgAction, CommandFactory as _, Parser, Subcommand, ValueHint};

use super::{
    auth::AuthCommand,
    bench::Bench,
    card::CardCommand,
    chat::Chat,
    completion::{Completion, Man},
    config::ConfigCommand,
    conformance::Conformance,
    listen::Listen,
    send::Send,
    serve::Serve,
    skill::SkillCommand,
    store::StoreCommand,
    task::TaskCommand,
};
use crate::settings::{
    Declared as _, arguments, global_flags,
    serve::{self, NO_COMPAT, OPENAI},
    switch,
};

/// Serve, call and inspect A2A agents
#[derive(Debug, Parser)]
#[command(
    name = "a2a",
    version,
    disable_version_flag = true,
    subcommand_required = true,
    term_width = 100
)]
pub(super) struct Cli {
    /// Settings file to read instead of the nearest .env; see `a2a config show`
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = "Agent", display_order = 100)]
    pub(super) config: Option<PathBuf>,
    /// Stream events as they arrive
    #[arg(long, global = true, help_heading = "Waiting")]
    pub(super) stream: bool,
    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The commands with all their flags: those above, and one for each declared setting.
pub(super) fn tree() -> clap::Command {
    tree_for(|_| true)
}

/// The commands, of which those that run servers have flags for their settings only if a command line
/// needs them: there are many.
pub(super) fn tree_for(needs: impl Fn(&str) -> bool) -> clap::Command {
    let globals: Vec<_> = global_flags().collect();
    let is_global = |flag: &Arg| globals.iter().any(|one| one.get_long() == flag.get_long());
    let serve = |command: clap::Command| {
        serve::Serve::sections().iter().fold(command, |command, section| {
            let flags =
                arguments(section).filter(|flag| flag.get_long().is_none() || !is_global(flag));
            let no_compat = Arg::new(NO_COMPAT)
                .long(NO_COMPAT)
                .help("Serve protocol version 1.0 only, as --protocol 1.0 does")
                .help_heading(section.title);
            let no_compat = (section.name == "listen").then(|| switch(no_compat));
            let openai = Arg::new(OPENAI)
                .long(OPENAI)
                .value_name("URL")
                .help("Serve --model of a server with OpenAI's chat API: --base-url, without a provider in --model")
                .help_heading(section.title);
            let openai = (section.name == "model").then_some(openai);
            command.args(flags.chain(no_compat).chain(openai))
        })
    };
    let tree = Cli::command().args(globals.clone());
    let servers = ["serve", "demo-server"].into_iter().filter(|name| needs(name));
    servers.fold(tree, |tree, name| tree.mut_subcommand(name, serve))
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show, check, sign and verify agent cards
    #[command(subcommand)]
    Card(CardCommand),
    /// Send a message and wait for the result
    Send(Box<Send>),
    /// Chat with an agent on a terminal, or over pipes
    Chat(Chat),
    /// Show, list, watch, cancel and download tasks
    #[command(subcommand)]
    Task(TaskCommand),
    /// Receive the events of a webhook and print them
    Listen(Listen),
    /// Run an agent
    Serve(Serve),
    /// Check whether an agent conforms to the protocol
    Conformance(Box<Conformance>),
    /// Inspect the store of an agent
    #[command(subcommand)]
    Store(StoreCommand),
    /// Log in to agents; hash passwords
    #[command(subcommand)]
    Auth(AuthCommand),
    /// Measure throughput and latency of an agent
    Bench(Box<Bench>),
    /// Show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show or install the Agent Skill, which explains this tool to coding agents
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Print a completion script for a shell
    Completion(Completion),
    /// Write manual pages
    #[command(hide = true)]
    Man(Man),
    /// Run the demo agent
    #[command(name = "demo-server", alias = "server", hide = true)]
    DemoServer(Serve),
}

impl Command {
    /// Returns whether the command calls no agent, and so needs no catalog of agents.
    pub(super) fn is_local(&self) -> bool {
        matches!(self, Self::Completion(_) | Self::Config(_) | Self::Store(_))
    }

    /// Returns whether the command may send secrets of the user to an agent.
    pub(super) fn sends_secrets(&self) -> bool {
        match self {
            Self::Card(command) => !matches!(command, CardCommand::Sign(_)),
            Self::Auth(command) => matches!(command, AuthCommand::Login(_)),
            Self::Send(_)
            | Self::Chat(_)
            | Self::Task(_)
            | Self::Conformance(_)
            | Self::Bench(_) => true,
            Self::Listen(_)
            | Self::Serve(_)
            | Self::Store(_)
            | Self::Config(_)
            | Self::Skill(_)
            | Self::Completion(_)
            | Self::Man(_)
            | Self::DemoServer(_) => false,
        }
    }

    /// The agent that the command itself names, in place of `--agent-card`.
    pub(super) fn reference(&self) -> Option<&String> {
        if let Self::Card(command) = self { command.reference() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        path::{Path, PathBuf},
    };

    use super::*;

    /// Flags of other tools that texts name, and the names that flags had before.
    const FOREIGN: [&str; 0] = [];

    fn flags_of(command: &clap::Command, flags: &mut BTreeSet<String>) {
        for argument in command.get_arguments() {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            flags.extend(argument.get_long().into_iter().chain(aliases).map(str::to_owned));
        }
        command.get_subcommands().for_each(|command| flags_of(command, flags));
    }

    fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                rust_files(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }

    /// Hints, errors and help: every flag in a text of this program.
    #[test]
    fn flags_that_texts_name_exist() {
        let mut flags = BTreeSet::from(["help".to_owned(), "version".to_owned()]);
        flags_of(&tree(), &mut flags);
        let mut files = Vec::new();
        rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
        for path in files {
            // The names that flags had before.
            if path.ends_with("settings/serve/suggestion.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for named in line.split("--").skip(1) {
                    let end = |c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-';
                    let name = named.split(end).next().unwrap_or_default();
                    let is_known = flags.contains(name) || FOREIGN.contains(&name);
                    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
                    assert!(!starts || is_known, "{}: --{name} in {line:?}", path.display());
                }
            }
        }
    }

    #[test]
    fn command_tree_is_consistent() {
        tree().debug_assert();
    }

    /// An argument with the id of a global one is read in its place.
    #[test]
    fn arguments_with_the_id_of_a_global_one_have_its_type() {
        fn check(command: &clap::Command, globals: &[Arg]) {
            for argument in command.get_arguments() {
                let Some(global) = globals.iter().find(|one| one.get_id() == argument.get_id())
                else {
                    continue;
                };
                let types = [argument, global].map(|one| one.get_value_parser().type_id());
                assert_eq!(types[0], types[1], "{argument} of {}", command.get_name());
            }
            command.get_subcommands().for_each(|command| check(command, globals));
        }
        let tree = tree();
        let globals = tree.get_arguments().filter(|argument| argument.is_global_set());
        let globals: Vec<_> = globals.cloned().collect();
        assert!(!globals.is_empty());
        tree.get_subcommands().for_each(|command| check(command, &globals));
    }
}
