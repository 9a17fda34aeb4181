//! The commands: how they are called, and one file for each.

mod auth;
mod card;
mod completion;
mod part;
mod send;
mod serve;
mod store;
mod task;
mod usage;

use std::{ffi::OsString, future::Future, process::ExitCode, sync::Arc};

use a2a_telemetry::Otlp;
use clap::{ArgAction, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use tracing::Instrument as _;

use crate::{
    failure::{Code, Failure},
    output::Output,
    settings::{Environment, Flags, Settings, serve::with_flags},
    wire_log::WireLog,
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
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show, sign and verify agent cards
    #[command(subcommand)]
    Card(card::CardCommand),
    /// Send a message and wait for what comes of it
    Send(Box<send::Send>),
    /// Read, list, follow and cancel tasks
    #[command(subcommand)]
    Task(task::TaskCommand),
    /// Run an agent
    Serve(serve::Serve),
    /// Look into the store of an agent
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Authentication
    #[command(subcommand)]
    Auth(auth::AuthCommand),
    /// Print a completion script for a shell
    Completion(completion::Completion),
    /// Run the demo agent
    #[command(name = "demo-server", alias = "server", hide = true)]
    DemoServer(serve::Serve),
}

/// Runs the command line and returns the exit status.
pub(crate) fn run(arguments: Vec<OsString>, environment: &Environment) -> ExitCode {
    let output = Output::plain(usage::format(&arguments, environment));
    let matches = match tree(environment).try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage::answer(&error, output),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&error, output),
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
    crate::target::warn(&settings, output);
    match dispatch(command, &matches, &settings, environment, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure, output),
    }
}

/// The tree of commands. Its help ends with the defaults that hold in this environment.
fn tree(environment: &Environment) -> clap::Command {
    let tree = with_flags(Cli::command());
    match Settings::resolve(&Flags::default(), environment) {
        Ok(settings) => with_defaults(tree, &settings.effective_defaults()),
        // A variable that can't be read is reported when the command runs.
        Err(_) => tree,
    }
}

/// Ends the help of a command, and of those below it, with the defaults.
fn with_defaults(command: clap::Command, defaults: &str) -> clap::Command {
    command
        .mut_subcommands(|command| with_defaults(command, defaults))
        .after_help(defaults.to_owned())
}

fn dispatch(
    command: Command,
    matches: &ArgMatches,
    settings: &Settings,
    environment: &Environment,
    output: Output,
) -> Result<(), Failure> {
    match command {
        Command::Completion(completion) => completion.run(output),
        Command::Auth(command) => command.run(output),
        Command::Card(command) => client(settings, command.run(settings, output)),
        Command::Send(send) => {
            let own = matches.subcommand_matches("send");
            let parts = own.map_or_else(Vec::new, part::in_order);
            client(settings, send.run(parts, settings, output))
        }
        Command::Task(command) => client(settings, command.run(settings, output)),
        Command::Store(command) => client(settings, command.run(environment, output)),
        Command::Serve(_) | Command::DemoServer(_) => {
            Err(Failure::internal("serve reads its settings by itself"))
        }
    }
}

/// Runs a server: on all processors.
fn serving(server: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    block_on(server, tokio::runtime::Builder::new_multi_thread())
}

/// Runs a command that calls an agent: one thread is enough for it, and logs are for `--debug`.
fn client(
    settings: &Settings,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    use crate::log::{self, Detail, Observe};

    let observe = || Observe { trust: settings.trust.clone(), ..Observe::default() };
    // What waits is sent when it is dropped, after the command.
    let _guard = match (settings.debug, Otlp::from_environment()) {
        (true, _) => Some(log::start(Detail::Debug, observe())?),
        (false, Some(_)) => Some(log::start(Detail::Warnings, observe())?),
        (false, None) => None,
    };
    let command = command.instrument(log::command_span());
    block_on(command, tokio::runtime::Builder::new_current_thread())
}

fn block_on(
    command: impl Future<Output = Result<(), Failure>>,
    mut runtime: tokio::runtime::Builder,
) -> Result<(), Failure> {
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("can't start the runtime: {error}")))?;
    let result = runtime.block_on(command);
    // A read of stdin can't be interrupted, so nothing waits for the threads that do such work.
    runtime.shutdown_background();
    result
}

fn report(failure: &Failure, output: Output) -> ExitCode {
    if failure.code() != Code::OutputClosed {
        output.failure(failure);
    }
    ExitCode::from(failure.code().exit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_consistent() {
        with_flags(Cli::command()).debug_assert();
    }
}
