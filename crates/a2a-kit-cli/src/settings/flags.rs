//! The flags that every command takes.

use std::{path::PathBuf, time::Duration};

use a2a_core::{ProtocolVersion, well_known::Struct};
use a2a_kit_client::{Transport, credentials::Origin};
use clap::{Args, ValueHint};

use super::value::{self, Fingerprint, Format};

const AGENT: &str = "Agent";
const WAITING: &str = "Waiting";
const REQUEST: &str = "Request";
const CREDENTIALS: &str = "Credentials";
const TLS: &str = "TLS of outgoing connections";
const OUTPUT: &str = "Output";

/// The flags that every command takes. What is not given comes from variables and files: see
/// [`Settings`](super::Settings).
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Agent to call: host, host:port, URL of its card, card file, or catalog+<URL or file>#<name> for
    /// an entry of a catalog
    #[arg(short, long, global = true, value_name = "REF", help_heading = AGENT)]
    pub(crate) agent_card: Option<String>,
    /// Interface URL to call without a card; requires exactly one --transport, or with --proxy
    /// --upstream-transport
    #[arg(short, long, global = true, value_name = "URL", help_heading = AGENT)]
    pub(crate) endpoint: Option<String>,
    /// Binding to use: jsonrpc, http+json (or rest), grpc; repeatable, in order of preference
    #[arg(long, global = true, value_name = "BINDING", value_parser = value::binding,
          value_delimiter = ',', help_heading = AGENT)]
    pub(crate) transport: Vec<Transport>,
    /// Tenant; requires --endpoint
    #[arg(long, global = true, value_name = "TENANT", help_heading = AGENT)]
    pub(crate) tenant: Option<String>,
    /// Settings file to read instead of the nearest .env; see `a2a config show`
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = AGENT)]
    pub(crate) config: Option<PathBuf>,
    /// Fetch the card of the agent even if a cached one is fresh, and don't cache it
    #[arg(long, global = true, help_heading = AGENT)]
    pub(crate) no_cache: bool,
    /// Use plaintext for a gRPC interface that is a host:port without a scheme
    #[arg(long, global = true, help_heading = AGENT)]
    pub(crate) grpc_plaintext: bool,
    /// Protocol version to use: 1.0, draft, 0.3, 0.2, 0.1
    #[arg(long, global = true, value_name = "VERSION", value_parser = value::version,
          help_heading = AGENT)]
    pub(crate) a2a_version: Option<ProtocolVersion>,

    /// Stream events as they arrive
    #[arg(long, global = true, help_heading = WAITING)]
    pub(crate) stream: bool,
    /// Do not wait for the task
    #[arg(long = "async", global = true, aliases = ["no-wait", "return-immediately"],
          help_heading = WAITING)]
    pub(crate) no_wait: bool,
    /// Wait until the task ends or is interrupted
    #[arg(long, global = true, alias = "watch", help_heading = WAITING)]
    pub(crate) wait: bool,
    /// Poll interval, at least 100ms. The default one is reached through shorter ones
    #[arg(long, global = true, value_name = "DURATION", value_parser = value::poll_interval,
          help_heading = WAITING)]
    pub(crate) poll_interval: Option<Duration>,
    /// Total timeout of waiting; 0 disables it. There is no default with --stream
    #[arg(long, global = true, value_name = "DURATION", value_parser = value::duration,
          help_heading = WAITING)]
    pub(crate) timeout: Option<Duration>,
    /// Timeout for connecting, reads and sends that do not wait
    #[arg(long, global = true, value_name = "DURATION", value_parser = value::duration,
          help_heading = WAITING)]
    pub(crate) request_timeout: Option<Duration>,

    /// Task to continue, or to operate on
    #[arg(long, global = true, value_name = "ID", help_heading = REQUEST)]
    pub(crate) task_id: Option<String>,
    /// Context to continue
    #[arg(long, global = true, value_name = "ID", help_heading = REQUEST)]
    pub(crate) context_id: Option<String>,
    /// URI of an extension to activate; repeatable
    #[arg(long, global = true, value_name = "URI", help_heading = REQUEST)]
    pub(crate) extension: Vec<String>,
    /// Metadata of the request, as a JSON object
    #[arg(long, global = true, value_name = "JSON", value_parser = value::json_object,
          help_heading = REQUEST)]
    pub(crate) metadata: Option<Struct>,
    /// Service parameter (HTTP header or gRPC metadata), as name:value; repeatable
    #[arg(long, global = true, value_name = "NAME:VALUE",
          value_parser = value::service_parameter, help_heading = REQUEST)]
    pub(crate) svc_param: Vec<(String, String)>,

    /// Bearer token. Flags are visible in the process list and the shell history: prefer
    /// A2ACLI_BEARER
    #[arg(long, global = true, value_name = "TOKEN", help_heading = CREDENTIALS)]
    pub(crate) bearer: Option<String>,
    /// API key; prefer A2ACLI_API_KEY
    #[arg(long, global = true, value_name = "KEY", help_heading = CREDENTIALS)]
    pub(crate) api_key: Option<String>,
    /// HTTP Basic credentials; prefer A2ACLI_BASIC
    #[arg(long, global = true, value_name = "USER:PASSWORD", help_heading = CREDENTIALS)]
    pub(crate) basic: Option<String>,

    /// Send the credential with the first request for the card, instead of after it was asked for
    #[arg(long, global = true, help_heading = CREDENTIALS)]
    pub(crate) card_auth: bool,
    /// Additional origin that credentials and service parameters may be sent to, as
    /// https://agents.example; repeatable [default: the origin of the card]
    #[arg(long, global = true, value_name = "ORIGIN", value_parser = value::origin,
          value_delimiter = ',', help_heading = CREDENTIALS)]
    pub(crate) credential_origin: Vec<Origin>,

    /// Skip TLS certificate verification (insecure; for local testing only)
    #[arg(long, global = true, help_heading = TLS)]
    pub(crate) insecure: bool,
    /// PEM file with additional certificate authorities, for agents and, with serve, for all
    /// outgoing connections
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = TLS)]
    pub(crate) ca_cert: Option<PathBuf>,
    /// SHA-256 fingerprint of the certificate or public key of the agent, in place of all other checks
    /// of it: for self-signed certificates; repeatable
    #[arg(long, global = true, value_name = "FINGERPRINT", value_parser = value::fingerprint,
          value_delimiter = ',', conflicts_with = "insecure", help_heading = TLS)]
    pub(crate) pin_sha256: Vec<Fingerprint>,
    /// PEM file with the client certificate (mutual TLS)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = TLS)]
    pub(crate) client_cert: Option<PathBuf>,
    /// PEM file with the private key of the client certificate
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = TLS)]
    pub(crate) client_key: Option<PathBuf>,

    /// Output format: text or json
    #[arg(short, long, global = true, value_name = "FORMAT", value_parser = value::format,
          help_heading = OUTPUT)]
    pub(crate) output: Option<Format>,
    /// Print JSON documents on one line
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) compact: bool,
    /// Print all parts, the sent message, history and metadata
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// Render Markdown in text parts; only on a terminal
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) render: bool,
    /// Print diagnostics on stderr and, except with serve, raw messages without secrets
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) debug: bool,
}
