//! `a2a serve`: runs an agent.

use std::{path::PathBuf, time::Duration};

use a2a::Revisions;
use clap::{Args, ValueEnum, ValueHint};

use super::{keeping::Keeping, proxy::Proxy};
use crate::{
    demo::Profile,
    failure::Failure,
    output::Output,
    serve,
    settings::{Settings, value},
};

/// Flags of `a2a serve`; `--transport` is the global one and here says what is served.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Run the demo agent (this is the default)
    #[arg(long, group = "mode")]
    pub(crate) demo: bool,
    /// Run an agent that gives back what it hears
    #[arg(long, group = "mode")]
    pub(crate) echo: bool,
    /// Run an agent made of a shell command: text on its stdin, the answer on its stdout
    #[arg(long, group = "mode", value_name = "COMMAND")]
    pub(crate) exec: Option<String>,
    /// Like --exec, without a shell: a2a serve -- program argument...
    #[arg(last = true, group = "mode", value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
    #[command(flatten)]
    pub(crate) proxy: Proxy,

    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", value_name = "HOST")]
    pub(crate) host: String,
    /// Port to listen on; 0 takes any
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    pub(crate) port: u16,
    /// A port of its own for gRPC
    #[arg(long, value_name = "PORT")]
    pub(crate) grpc_port: Option<u16>,
    /// Where JSON-RPC is mounted
    #[arg(long, value_name = "PATH")]
    pub(crate) rpc_path: Option<String>,
    /// What the paths of HTTP+JSON start with
    #[arg(long, value_name = "PATH")]
    pub(crate) rest_prefix: Option<String>,
    /// URL under which clients reach the agent, for its card
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,

    /// Face of the demo agent
    #[arg(long, value_enum, default_value_t, value_name = "PROFILE")]
    pub(crate) profile: Profile,
    /// What the conformance profile does with a message that no rule matches
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) default: Option<Fallback>,

    /// Declare and serve no webhooks
    #[arg(long)]
    pub(crate) no_push: bool,
    /// Declare and serve no streams
    #[arg(long)]
    pub(crate) no_streaming: bool,
    /// Declare and serve no extended card
    #[arg(long)]
    pub(crate) no_extended_card: bool,
    /// Serve no gRPC
    #[arg(long)]
    pub(crate) no_grpc: bool,
    /// Revisions to serve, with commas between them: 1.0, draft, 0.3, 0.2, 0.1; latest is 1.0
    #[arg(long, default_value = "all", value_name = "LIST")]
    pub(crate) protocol: Revisions,
    /// Serve no older revisions, as --protocol 1.0 does
    #[arg(long, conflicts_with = "protocol")]
    pub(crate) no_compat: bool,
    /// Extension that callers must ask for; repeatable
    #[arg(long, value_name = "URI")]
    pub(crate) required_extension: Vec<String>,
    /// Bearer token without which the extended card is not given
    #[arg(long, value_name = "TOKEN")]
    pub(crate) extended_card_token: Option<String>,
    /// Network, address or host that webhooks may be in though it is not public; repeatable
    #[arg(long, value_name = "CIDR|HOST")]
    pub(crate) allow_webhook: Vec<String>,
    /// Private key, as PEM, to sign calls of webhooks with; the public half is served at
    /// /.well-known/jwks.json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) webhook_key: Option<PathBuf>,

    /// Card to serve, as a JSON file; its interfaces are rewritten
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,
    /// Name in the card
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Description in the card
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    #[command(flatten)]
    pub(crate) keeping: Keeping,
    /// Largest request body
    #[arg(long, value_name = "BYTES", value_parser = value::bytes)]
    pub(crate) max_body: Option<usize>,
    /// Write no traffic log
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Write the log as JSON, one line per request
    #[arg(long)]
    pub(crate) log_json: bool,

    /// Commands that run at a time
    #[arg(long, default_value_t = 16, value_name = "N")]
    pub(crate) concurrency: u16,
    /// Time that a command may take
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) exec_timeout: Option<Duration>,
    /// Stream what a command writes, cut at this delimiter; \n and \t are understood
    #[arg(long, value_name = "DELIMITER", conflicts_with = "io")]
    pub(crate) chunk: Option<String>,
    /// Speak JSON lines with a command
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) io: Option<Io>,
}

/// What the conformance profile does with a message that no rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fallback {
    /// Echo it and complete, in place of asking for more.
    Complete,
}

/// What is spoken with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// The message in, events out, each on one line.
    Jsonl,
}

impl Serve {
    /// Returns whether the demo agent is served.
    pub(crate) fn is_demo(&self) -> bool {
        !self.echo
            && self.exec.is_none()
            && self.program.is_empty()
            && self.proxy.reference.is_none()
    }

    pub(super) async fn run(self, settings: &Settings, output: Output) -> Result<(), Failure> {
        serve::run(self, settings, output).await
    }
}
