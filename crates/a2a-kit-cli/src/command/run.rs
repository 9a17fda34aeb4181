//! Running a command line.

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use clap::{ArgMatches, FromArgMatches as _};
use tokio::runtime::Builder;

use super::{
    cli::{Cli, Command, tree, tree_for},
    part, usage,
};
use crate::{
    agent,
    failure::{Code, Failure},
    output::Output,
    runtime,
    serve::DemoAgent,
    settings::{Directories, Environment, Settings, Source, Sources},
    wire_log::WireLog,
};

/// Runs a command line and returns the exit status.
pub(crate) fn run(
    arguments: Vec<OsString>,
    environment: &Environment,
    demo: &dyn DemoAgent,
) -> ExitCode {
    let directories = Directories::of_process();
    let brief = tree_for(|name| arguments.iter().any(|argument| argument == name));
    // Errors and help may be about any command.
    let parsed =
        brief.try_get_matches_from(&arguments).or_else(|_| tree().try_get_matches_from(&arguments));
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (Cli { config, stream, command, .. }, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage::report(error, &arguments, environment, &directories),
    };
    let without_files = Sources::of_environment(environment).with_flags(&matches);
    let command = match (command, matches.subcommand()) {
        (Command::Serve(serve) | Command::DemoServer(serve), Some((_, matches))) => {
            let output = Output::plain(without_files.format());
            return match serve.run(without_files, config, matches, environment, demo, output) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => report(&failure, output),
            };
        }
        (command, _) => command,
    };
    let sources = Sources::read(environment, &directories, config.as_deref());
    let sources = sources.and_then(|sources| {
        let mut sources = sources.with_flags(&matches);
        if let Some(reference) = command.reference() {
            let source = Source::Flag("--agent-card".to_owned());
            sources.layer.insert("agent-card", reference.as_str(), source);
        }
        sources.with_agent()
    });
    let output = Output::plain(sources.as_ref().unwrap_or(&without_files).format());
    let resolved = sources.and_then(|sources| {
        let settings = Settings::resolve(&sources, stream)?;
        let reference = settings.agent_card.as_deref();
        if let Some(name) = reference.and_then(agent::file_of_that_name) {
            settings.output.note(&format!(
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
            return Ok((settings, sources));
        }
        let (settings, sources) = with_catalog_entry(settings, sources)?;
        check(&settings)?;
        Ok((settings, sources))
    });
    let (mut settings, sources) = match resolved {
        Ok(resolved) => resolved,
        Err(failure) => return report(&failure, output),
    };
    let output = settings.output;
    if settings.caches_cards() {
        settings.cache_directory = directories.cache.map(|cache| cache.join("cards"));
    }
    if settings.debug {
        settings.observer = Some(Arc::new(WireLog::new(&settings)));
    }
    for note in &sources.notes {
        output.note(note);
    }
    for warning in &sources.warnings {
        output.warning(warning);
    }
    agent::warn_if_insecure(&settings);
    match dispatch(command, &matches, &settings, environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure.redacted(|value| settings.redaction.apply_to(value)), output)
        }
    }
}

/// Replaces a reference to an entry of a catalog by the reference in the entry, and adds the settings
/// file of that agent.
fn with_catalog_entry(
    settings: Settings,
    mut sources: Sources,
) -> Result<(Settings, Sources), Failure> {
    let reference = settings.agent_card.as_deref();
    let Some(reference) = reference.filter(|text| agent::is_catalog_entry(text)) else {
        return Ok((settings, sources));
    };
    let entry = agent::resolve_catalog_entry(reference, &settings);
    let Some((entry, catalog)) = runtime::block_on(entry, Builder::new_current_thread())? else {
        return Ok((settings, sources));
    };
    sources.layer.insert("agent-card", entry, settings.source("agent-card"));
    let sources = sources.with_agent()?;
    let mut resolved = Settings::resolve(&sources, settings.stream)?;
    resolved.catalog = catalog;
    resolved.bare_file = settings.bare_file;
    Ok((resolved, sources))
}

fn dispatch(
    command: Command,
    matches: &ArgMatches,
    settings: &Settings,
    environment: &Environment,
) -> Result<(), Failure> {
    let output = settings.output;
    match command {
        Command::Completion(completion) => completion.run(tree(), output),
        Command::Auth(command) => runtime::run_client(settings, command.run(settings)),
        Command::Bench(bench) => runtime::run_load(settings, bench.run(settings)),
        Command::Config(command) => command.run(settings),
        Command::Man(man) => man.run(tree()),
        Command::Card(command) => runtime::run_client(settings, command.run(settings)),
        Command::Send(send) => {
            let own = matches.subcommand_matches("send");
            let parts = own.map_or_else(Vec::new, part::in_order);
            runtime::run_client(settings, send.run(parts, settings))
        }
        Command::Chat(chat) => runtime::run_client(settings, chat.run(settings)),
        Command::Task(command) => runtime::run_client(settings, command.run(settings)),
        Command::Conformance(command) => runtime::run_client(settings, command.run(settings)),
        Command::Listen(listen) => runtime::run_client(settings, listen.run(settings)),
        Command::Skill(command) => command.run(output),
        Command::Store(command) => runtime::run_client(settings, command.run(environment, output)),
        Command::Serve(_) | Command::DemoServer(_) => {
            Err(Failure::internal("serve reads its settings by itself"))
        }
    }
}

fn report(failure: &Failure, output: Output) -> ExitCode {
    if failure.code != Code::OutputClosed {
        output.failure(failure);
    }
    ExitCode::from(failure.code.exit())
}
