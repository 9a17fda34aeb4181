//! `a2a serve`: runs an agent.

use std::{ffi::OsString, path::PathBuf};

use a2a::Revisions;
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum, ValueHint, parser::ValueSource};

use super::{
    access::Access, cli::Cli, cli::Command, encryption::Encryption, exec::Exec, keeping::Keeping,
    limits::Limits, proxy::Proxy, task_limits::TaskBounds,
};
use crate::{
    failure::Failure,
    output::Output,
    script::Profile,
    serve,
    settings::{
        Environment, Settings,
        serve::{Effective, Told},
    },
};

const MODE: &str = "Agent that is run";
const LISTEN: &str = "Address and protocol";
const CARD: &str = "Card";
const WEBHOOKS: &str = "Webhooks";
const LOG: &str = "Log";
const SETTINGS: &str = "Settings";

/// Flags of `a2a serve`; `--transport` is the global one and here says what is served.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// File with settings: TOML, with a key for each of these flags. The variable is
    /// A2ACLI_SERVE_SETTINGS; a flag goes before a variable, and that before the file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = SETTINGS)]
    pub(crate) settings: Option<PathBuf>,
    /// Print the settings that hold, as such a file, and start nothing
    #[arg(long, help_heading = SETTINGS)]
    pub(crate) print_settings: bool,

    /// Run the demo agent (this is the default)
    #[arg(long, group = "mode", help_heading = MODE)]
    pub(crate) demo: bool,
    /// Run the agent that a script describes: TOML, with rules that say how messages are answered.
    /// For tests of clients; see docs/scripts.md
    #[arg(long, group = "mode", conflicts_with_all = ["profile", "default"], value_name = "FILE",
        value_hint = ValueHint::FilePath, help_heading = MODE)]
    pub(crate) script: Option<PathBuf>,
    /// Run an agent that gives back what it hears
    #[arg(long, group = "mode", help_heading = MODE)]
    pub(crate) echo: bool,
    /// Run an agent made of a shell command: text on its stdin, the answer on its stdout
    #[arg(long, group = "mode", value_name = "COMMAND", help_heading = MODE)]
    pub(crate) exec: Option<String>,
    /// Like --exec, without a shell: a2a serve -- program argument...
    #[arg(last = true, group = "mode", value_name = "PROGRAM", help_heading = MODE)]
    pub(crate) program: Vec<String>,
    /// Face of the demo agent
    #[arg(long, value_enum, default_value_t, value_name = "PROFILE", help_heading = MODE)]
    pub(crate) profile: Profile,
    /// What the conformance profile does with a message that no rule matches
    #[arg(long, value_enum, value_name = "WHAT", help_heading = MODE)]
    pub(crate) default: Option<Fallback>,

    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", value_name = "HOST", help_heading = LISTEN)]
    pub(crate) host: String,
    /// Port to listen on; 0 takes any
    #[arg(long, default_value_t = 8080, value_name = "PORT", help_heading = LISTEN)]
    pub(crate) port: u16,
    /// A port of its own for gRPC
    #[arg(long, value_name = "PORT", help_heading = LISTEN)]
    pub(crate) grpc_port: Option<u16>,
    /// Where JSON-RPC is mounted
    #[arg(long, value_name = "PATH", help_heading = LISTEN)]
    pub(crate) rpc_path: Option<String>,
    /// What the paths of HTTP+JSON start with
    #[arg(long, value_name = "PATH", help_heading = LISTEN)]
    pub(crate) rest_prefix: Option<String>,
    /// URL under which clients reach the agent, for its card
    #[arg(long, value_name = "URL", help_heading = LISTEN)]
    pub(crate) public_url: Option<String>,
    /// Serve no gRPC
    #[arg(long, help_heading = LISTEN)]
    pub(crate) no_grpc: bool,
    /// Whether the card names gRPC where it is served. Google ADK refuses cards with a gRPC address
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", help_heading = LISTEN)]
    pub(crate) grpc_in_card: GrpcInCard,
    /// Revisions to serve, with commas between them: 1.0, draft, 0.3, 0.2, 0.1; latest is 1.0
    #[arg(long, default_value = "all", value_name = "LIST", help_heading = LISTEN)]
    pub(crate) protocol: Revisions,
    /// Serve no older revisions, as --protocol 1.0 does
    #[arg(long, conflicts_with = "protocol", help_heading = LISTEN)]
    pub(crate) no_compat: bool,

    /// Card to serve, as a JSON file; its interfaces are rewritten
    #[arg(long, value_name = "FILE", help_heading = CARD)]
    pub(crate) card: Option<PathBuf>,
    /// Private key, as PEM, to sign the card with; the public half is served at
    /// /.well-known/jwks.json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CARD)]
    pub(crate) card_key: Option<PathBuf>,
    /// Name in the card
    #[arg(long, value_name = "NAME", help_heading = CARD)]
    pub(crate) name: Option<String>,
    /// Description in the card
    #[arg(long, value_name = "TEXT", help_heading = CARD)]
    pub(crate) description: Option<String>,
    /// Declare and serve no streams
    #[arg(long, help_heading = CARD)]
    pub(crate) no_streaming: bool,
    /// Declare and serve no extended card
    #[arg(long, help_heading = CARD)]
    pub(crate) no_extended_card: bool,
    /// Extension that callers must ask for; repeatable
    #[arg(long, value_name = "URI", help_heading = CARD)]
    pub(crate) required_extension: Vec<String>,

    #[command(flatten)]
    pub(crate) commands: Exec,
    #[command(flatten)]
    pub(crate) proxy: Proxy,
    #[command(flatten)]
    pub(crate) keeping: Keeping,

    /// Declare and serve no webhooks
    #[arg(long, help_heading = WEBHOOKS)]
    pub(crate) no_push: bool,
    /// Network, address or host that webhooks may be in though it is not public, with a port also
    /// that port of a well-known service; repeatable
    #[arg(long, value_name = "CIDR|HOST[:PORT]", help_heading = WEBHOOKS)]
    pub(crate) allow_webhook: Vec<String>,
    /// Call no webhooks but those of --allow-webhook, on the public internet neither
    #[arg(long, help_heading = WEBHOOKS)]
    pub(crate) webhooks_allowed_only: bool,
    /// Refuse webhooks at http:// addresses, where everyone on the way reads along
    #[arg(long, help_heading = WEBHOOKS)]
    pub(crate) webhooks_https_only: bool,
    /// Private key, as PEM, to sign calls of webhooks with; the public half is served at
    /// /.well-known/jwks.json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = WEBHOOKS)]
    pub(crate) webhook_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) encryption: Encryption,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) task_limits: TaskBounds,

    /// Write no traffic log
    #[arg(long, help_heading = LOG)]
    pub(crate) quiet: bool,
    /// Write the log as JSON, one line per request
    #[arg(long, help_heading = LOG)]
    pub(crate) log_json: bool,
    /// OTLP collector to send traces to, over HTTP; the variables OTEL_* are read too
    #[arg(long, value_name = "URL", help_heading = LOG)]
    pub(crate) otlp_endpoint: Option<String>,
    /// Keep no metrics: without this, /metrics serves them to this machine
    #[arg(long, help_heading = LOG)]
    pub(crate) no_metrics: bool,
    /// Address of its own for /metrics, which then serves whoever reaches it
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "no_metrics", help_heading = LOG)]
    pub(crate) metrics_listen: Option<String>,
    /// File that security events are added to, as JSON lines; - is stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = LOG)]
    pub(crate) audit_log: Option<PathBuf>,
}

/// What the conformance profile does with a message that no rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fallback {
    /// Echo it and complete, in place of asking for more.
    Complete,
}

/// Whether the card names gRPC where it is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrpcInCard {
    /// As every binding.
    #[default]
    Always,
    /// For clients that refuse cards with a gRPC address; gRPC clients have to be told theirs.
    Never,
}

impl Serve {
    /// Returns whether the agent for measurements is served.
    pub(crate) fn is_bench(&self) -> bool {
        self.is_scripted() && self.script.is_none() && self.profile == Profile::Bench
    }

    /// Returns whether the demo agent is served, or that of a script.
    pub(crate) fn is_scripted(&self) -> bool {
        !self.echo
            && self.exec.is_none()
            && self.program.is_empty()
            && self.proxy.reference.is_none()
    }

    pub(super) async fn run(
        self,
        told: &Told,
        settings: &Settings,
        output: Output,
    ) -> Result<(), Failure> {
        serve::run(self, told, settings, output).await.map_err(|failure| told.place(failure))
    }
}

/// Runs the server that `arguments` ask for, or prints its settings. `flags` are those behind
/// the command `name`.
///
/// # Errors
///
/// A usage failure that names the flag, the variable or the place in the file; whatever keeps the
/// server from starting.
pub(super) fn start(
    tree: clap::Command,
    arguments: Vec<OsString>,
    name: &str,
    flags: &ArgMatches,
    environment: &Environment,
    output: Output,
) -> Result<(), Failure> {
    let told = Told::read(&tree, flags, environment, output)?;
    let tree = told.put_into(tree, name);
    let unreadable = |error| super::usage::failure(&error);
    let matches = tree.try_get_matches_from(arguments).map_err(unreadable)?;
    let cli = Cli::from_arg_matches(&matches).map_err(unreadable)?;
    let (Command::Serve(serve) | Command::DemoServer(serve)) = cli.command else {
        return Err(Failure::internal("another command than at first"));
    };
    needs_proxy(flags, &serve)?;
    let placed = |failure| told.place(failure);
    let mut settings = Settings::resolve(&cli.flags, environment).map_err(placed)?;
    // A variable says how to call agents, not how to serve one.
    settings.transport = cli.flags.transport;
    let output = Output::new(&settings);
    crate::agent::warn_if_insecure(&settings, output);
    if serve.print_settings {
        serve::check(&serve, &told, &settings).map_err(placed)?;
        let flags = matches.subcommand_matches(name).unwrap_or(&matches);
        return Effective::new(flags, &told).print(output);
    }
    crate::runtime::run_server(serve.run(&told, &settings, output))
}

/// Refuses flags for an agent that is elsewhere where there is none. In a file they may stand for
/// another time.
fn needs_proxy(flags: &ArgMatches, serve: &Serve) -> Result<(), Failure> {
    let is_given = |flag: &&str| flags.value_source(flag) == Some(ValueSource::CommandLine);
    let given = ["upstream_transport", "upstream_version", "forward_auth", "record"];
    match given.iter().find(|flag| is_given(flag)) {
        Some(flag) if serve.proxy.reference.is_none() => {
            let flag = flag.replace('_', "-");
            Err(Failure::usage(format!("--{flag} is only for --proxy")))
        }
        _ => Ok(()),
    }
}
