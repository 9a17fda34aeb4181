//! Running a command line.

use std::{ffi::OsString, path::Path, process::ExitCode, sync::Arc};

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, error::ErrorKind};

use super::{
    cli::{Cli, Command},
    part, usage,
};
use crate::{
    agent,
    failure::{Code, Failure},
    output::Output,
    runtime,
    settings::{Directories, Environment, Flags, Layers, Settings, serve::with_flags},
    wire_log::WireLog,
};

/// Runs a command line and returns the exit status.
pub(crate) fn run(arguments: Vec<OsString>, environment: &Environment) -> ExitCode {
    let directories = Directories::of_process();
    let early = early_layers(&arguments, environment, &directories);
    let fallback = Layers::of_environment(environment);
    let output = Output::plain(usage::format(&arguments, early.as_ref().unwrap_or(&fallback)));
    let matches = match with_flags(Cli::command()).try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            return print_help(&arguments, early, output);
        }
        Err(error) => return usage::report(&error, output),
    };
    let Cli { mut flags, command, .. } = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error, output),
    };
    let command = match (command, matches.subcommand()) {
        (Command::Serve(serve) | Command::DemoServer(serve), Some((_, matches))) => {
            let output = Output::plain(usage::format(&arguments, &fallback));
            return match serve.run(flags, matches, environment, output) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => report(&failure, output),
            };
        }
        (command, _) => command,
    };
    if let Some(reference) = command.reference() {
        flags.agent_card = Some(reference.clone());
    }
    let agent = flags.agent_card.as_deref().or(flags.endpoint.as_deref());
    let layers = layers(environment, &directories, flags.config.as_deref(), agent);
    let resolved = layers.and_then(|layers| {
        let settings = Settings::resolve(&flags, &layers)?;
        let reference = settings.agent_card.as_deref();
        if let Some(name) = reference.and_then(agent::file_of_that_name) {
            Output::new(&settings).note(&format!(
                "{name} is read as an address; to read the file of that name, write ./{name}"
            ));
        }
        let check = |settings: &Settings| match command.sends_secrets() {
            true => settings.check_secrets(),
            false => Ok(()),
        };
        // Before a catalog is fetched, as well as for the agent that it names.
        check(&settings)?;
        if command.is_local() {
            return Ok((settings, layers));
        }
        let (settings, layers) = with_catalog_entry(settings, layers, flags)?;
        check(&settings)?;
        Ok((settings, layers))
    });
    let (mut settings, layers) = match resolved {
        Ok(resolved) => resolved,
        Err(failure) => return report(&failure, output),
    };
    let output = Output::new(&settings);
    if settings.caches_cards() {
        settings.cache_directory = directories.cache.map(|cache| cache.join("cards"));
    }
    if settings.debug {
        settings.observer = Some(Arc::new(WireLog::new(&settings, output)));
    }
    for note in layers.notes() {
        output.note(note);
    }
    for warning in layers.warnings() {
        output.warning(warning);
    }
    agent::warn_if_insecure(&settings, output);
    match dispatch(command, &matches, &settings, environment, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let redaction = settings.redaction();
            report(&failure.redacted(|value| redaction.apply_to(value)), output)
        }
    }
}

/// Reads the settings files for help and for invalid command lines, which can't be parsed.
fn early_layers(
    arguments: &[OsString],
    environment: &Environment,
    directories: &Directories,
) -> Result<Layers, Failure> {
    let config = usage::value_of(arguments, None, "--config").map(Path::new);
    let agent = usage::value_of(arguments, Some("-a"), "--agent-card")
        .or_else(|| usage::value_of(arguments, Some("-e"), "--endpoint"));
    layers(environment, directories, config, agent)
}

/// Reads the settings files that a command line selects, by `--config` and by the agent.
fn layers(
    environment: &Environment,
    directories: &Directories,
    config: Option<&Path>,
    agent: Option<&str>,
) -> Result<Layers, Failure> {
    let layers = Layers::read(environment, directories, config)?;
    match agent.or_else(|| layers.agent()).map(str::to_owned) {
        Some(agent) => layers.with_agent(&agent),
        None => Ok(layers),
    }
}

/// Replaces a reference to an entry of a catalog by the reference in the entry, and adds the settings
/// file of that agent.
fn with_catalog_entry(
    settings: Settings,
    layers: Layers,
    mut flags: Flags,
) -> Result<(Settings, Layers), Failure> {
    let Some(reference) =
        settings.agent_card.as_deref().filter(|text| agent::is_catalog_entry(text))
    else {
        return Ok((settings, layers));
    };
    let output = Output::new(&settings);
    let entry = agent::resolve_catalog_entry(reference, &settings, output);
    let Some((entry, catalog)) = runtime::run_unlogged(entry)? else {
        return Ok((settings, layers));
    };
    let layers = layers.with_agent(&entry)?;
    flags.agent_card = Some(entry);
    let mut resolved = Settings::resolve(&flags, &layers)?;
    resolved.effective.set_source("agent-card", settings.effective.source("agent-card").clone());
    resolved.catalog = catalog;
    resolved.bare_file = settings.bare_file;
    Ok((resolved, layers))
}

/// Prints help, which ends with the effective defaults. An invalid setting is reported when a
/// command runs.
fn print_help(arguments: &[OsString], layers: Result<Layers, Failure>, output: Output) -> ExitCode {
    let mut tree = with_flags(Cli::command());
    let settings = layers.and_then(|layers| Settings::resolve(&Flags::default(), &layers));
    if let Ok(settings) = settings {
        tree = with_defaults(tree, &settings.effective.defaults());
    }
    match tree.try_get_matches_from(arguments) {
        Ok(_) => ExitCode::SUCCESS,
        Err(help) => usage::report(&help, output),
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
        Command::Config(command) => command.run(settings, output),
        Command::Man(man) => man.run(with_flags(Cli::command())),
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
        Command::Listen(listen) => runtime::run_client(settings, listen.run(settings, output)),
        Command::Skill(command) => command.run(output),
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
