//! `a2a serve`: runs an agent.

use std::path::PathBuf;

use clap::{ArgMatches, Args, ValueHint};

use crate::{
    agent,
    failure::Failure,
    output::Output,
    runtime,
    serve::{self, DemoAgent},
    settings::{
        Environment, Settings, Source, Sources, json_schema,
        serve::{self as declared, LayeredSettings},
    },
};

/// The flags of `a2a serve` that are not settings.
#[derive(Args, Debug)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Serve {
    /// Settings file (TOML), with a key for each flag below. Precedence: flags, A2ACLI_SERVE_*
    /// variables, this file [env: A2ACLI_SERVE_SETTINGS]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    settings: Option<PathBuf>,
    /// Print the effective settings as a settings file, with the source of each, and exit
    #[arg(long)]
    print_settings: bool,
    /// Print the JSON Schema of the settings file and exit
    #[arg(long)]
    settings_schema: bool,
}

impl Serve {
    /// Runs the server of all settings, or prints them. `sources` are those of the flags and
    /// variables that all commands have, `config` is their file, and `matches` are those of this
    /// command.
    /// Errors: a usage failure that names the flag, the variable or the line of the file, or a
    /// failure to start.
    pub(super) fn run(
        self,
        mut sources: Sources,
        config: Option<PathBuf>,
        matches: &ArgMatches,
        environment: &Environment,
        demo: &dyn DemoAgent,
        output: Output,
    ) -> Result<(), Failure> {
        if self.settings_schema {
            return output.json(&json_schema::<declared::Serve>());
        }
        if config.is_some() {
            return Err(Failure::usage("--config is for commands that call an agent")
                .with_hint("the settings file of a server is set with --settings"));
        }
        let layered = LayeredSettings::read(matches, environment, output)?;
        let placed = |failure| layered.place(failure);
        let serve = layered.serve()?;
        if let Some(path) = &serve.tls.ca_file {
            let source = Source::Flag("--ca-cert".to_owned());
            sources.layer.insert("ca-cert", path.display().to_string(), source);
        }
        // A server has a settings file of its own. The files of client commands are not read: which
        // ones apply would depend on the directory in which the server was started.
        let mut settings = Settings::resolve(&sources, false).map_err(placed)?;
        // A2ACLI_TRANSPORT is for calls.
        settings.transport = serve.listen.transport.iter().map(|binding| binding.0).collect();
        agent::warn_if_insecure(&settings);
        if self.print_settings {
            serve::check(&serve, &settings, demo).map_err(placed)?;
            return layered.print(settings.output);
        }
        runtime::run_server(serve::run(serve, settings, demo)).map_err(placed)
    }
}
