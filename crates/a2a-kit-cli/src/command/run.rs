//! Running a command line.

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use super::{
    cli::{Cli, Command},
    part, usage,
};
use crate::{
    agent,
    failure::{Code, Failure},
    output::Output,
    runtime,
    settings::{Environment, Flags, Settings, serve::with_flags},
    wire_log::WireLog,
};

/// Runs a command line and returns the exit status.
pub(crate) fn run(arguments: Vec<OsString>, environment: &Environment) -> ExitCode {
    let output = Output::plain(usage::format(&arguments, environment));
    let matches = match tree(environment).try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage::report(&error, output),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error, output),
    };
    let command = match (cli.command, matches.subcommand()) {
        (Command::Serve(serve) | Command::DemoServer(serve), Some((_, matches))) => {
            return match serve.run(cli.flags, matches, environment, output) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => report(&failure, output),
            };
        }
        (command, _) => command,
    };
    let mut settings = match Settings::resolve(&cli.flags, environment) {
        Ok(settings) => settings,
        Err(failure) => return report(&failure, output),
    };
    let output = Output::new(&settings);
    if settings.debug {
        settings.observer = Some(Arc::new(WireLog::new(&settings, output)));
    }
    agent::warn_if_insecure(&settings, output);
    match dispatch(command, &matches, &settings, environment, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure, output),
    }
}

/// The tree of commands. Its help ends with the effective defaults.
fn tree(environment: &Environment) -> clap::Command {
    let tree = with_flags(Cli::command());
    match Settings::resolve(&Flags::default(), environment) {
        Ok(settings) => with_defaults(tree, &settings.effective_defaults()),
        // An invalid variable is reported when the command runs.
        Err(_) => tree,
    }
}

/// Appends the defaults to the help of a command and of its subcommands.
fn with_defaults(command: clap::Command, defaults: &str) -> clap::Command {
    let help = match command.get_after_help() {
        Some(notes) => format!("{notes}\n\n{defaults}"),
        None => defaults.to_owned(),
    };
    command.mut_subcommands(|command| with_defaults(command, defaults)).after_help(help)
}

fn dispatch(
    command: Command,
    matches: &ArgMatches,
    settings: &Settings,
    environment: &Environment,
    output: Output,
) -> Result<(), Failure> {
    match command {
        Command::Completion(completion) => completion.run(with_flags(Cli::command()), output),
        Command::Auth(command) => runtime::run_client(settings, command.run(settings, output)),
        Command::Bench(bench) => runtime::run_load(settings, bench.run(settings, output)),
        Command::Card(command) => runtime::run_client(settings, command.run(settings, output)),
        Command::Send(send) => {
            let own = matches.subcommand_matches("send");
            let parts = own.map_or_else(Vec::new, part::in_order);
            runtime::run_client(settings, send.run(parts, settings, output))
        }
        Command::Chat(chat) => runtime::run_client(settings, chat.run(settings, output)),
        Command::Task(command) => runtime::run_client(settings, command.run(settings, output)),
        Command::Conformance(conformance) => {
            runtime::run_client(settings, conformance.run(settings, output))
        }
        Command::Store(command) => runtime::run_client(settings, command.run(environment, output)),
        Command::Serve(_) | Command::DemoServer(_) => {
            Err(Failure::internal("serve reads its settings by itself"))
        }
    }
}

fn report(failure: &Failure, output: Output) -> ExitCode {
    if failure.code() != Code::OutputClosed {
        output.failure(failure);
    }
    ExitCode::from(failure.code().exit())
}
