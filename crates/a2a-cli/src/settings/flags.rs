//! The flags that every command takes.

use std::{path::PathBuf, time::Duration};

use a2a_client::{Transport, credentials::Origin};
use a2a_core::{ProtocolVersion, well_known::Struct};
use clap::{Args, ValueHint};

use super::value::{self, Format};

const AGENT: &str = "Agent";
const WAITING: &str = "Waiting";
const REQUEST: &str = "Request";
const CREDENTIALS: &str = "Credentials";
const TLS: &str = "TLS of calls";
const OUTPUT: &str = "Output";

/// The flags that every command takes. What is not given comes from elsewhere: see
/// [`Settings`](super::Settings).
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Agent: host, host:port, URL of its card, or a file with its card
    #[arg(short, long, global = true, value_name = "REF", help_heading = AGENT)]
    pub(crate) agent_card: Option<String>,
    /// Interface URL to call without fetching a card; needs one --transport
    #[arg(short, long, global = true, value_name = "URL", help_heading = AGENT)]
    pub(crate) endpoint: Option<String>,
    /// Binding to use: jsonrpc, http+json (or rest), grpc; repeatable, most wanted first
    #[arg(long, global = true, value_name = "BINDING", value_parser = value::binding,
          value_delimiter = ',', help_heading = AGENT)]
    pub(crate) transport: Vec<Transport>,
    /// Tenant, together with --endpoint
    #[arg(long, global = true, value_name = "TENANT", help_heading = AGENT)]
    pub(crate) tenant: Option<String>,
    /// Protocol version to speak: 1.0, draft, 0.3, 0.2, 0.1
    #[arg(long, global = true, value_name = "VERSION", value_parser = value::version,
          help_heading = AGENT)]
    pub(crate) a2a_version: Option<ProtocolVersion>,

    /// Follow live delivery
    #[arg(long, global = true, help_heading = WAITING)]
    pub(crate) stream: bool,
    /// Do not wait for the task
    #[arg(long = "async", global = true, aliases = ["no-wait", "return-immediately"],
          help_heading = WAITING)]
    pub(crate) no_wait: bool,
    /// Wait until the task settles
    #[arg(long, global = true, alias = "watch", help_heading = WAITING)]
    pub(crate) wait: bool,
    /// Pause between two polls, at least 100ms
    #[arg(long, global = true, value_name = "DURATION", value_parser = value::poll_interval,
          help_heading = WAITING)]
    pub(crate) poll_interval: Option<Duration>,
    /// Total time to wait; 0 is without limit
    #[arg(long, global = true, value_name = "DURATION", value_parser = value::duration,
          help_heading = WAITING)]
    pub(crate) timeout: Option<Duration>,
    /// Time for one request
    #[arg(long, global = true, value_name = "DURATION", value_parser = value::duration,
          help_heading = WAITING)]
    pub(crate) request_timeout: Option<Duration>,

    /// Task to continue or to act on
    #[arg(long, global = true, value_name = "ID", help_heading = REQUEST)]
    pub(crate) task_id: Option<String>,
    /// Context to continue
    #[arg(long, global = true, value_name = "ID", help_heading = REQUEST)]
    pub(crate) context_id: Option<String>,
    /// Extension to ask for; repeatable
    #[arg(long, global = true, value_name = "URI", help_heading = REQUEST)]
    pub(crate) extension: Vec<String>,
    /// JSON object for the metadata of the request
    #[arg(long, global = true, value_name = "JSON", value_parser = value::json_object,
          help_heading = REQUEST)]
    pub(crate) metadata: Option<Struct>,
    /// Service parameter as name:value, a header or gRPC metadata; repeatable
    #[arg(long, global = true, value_name = "NAME:VALUE",
          value_parser = value::service_parameter, help_heading = REQUEST)]
    pub(crate) svc_param: Vec<(String, String)>,

    /// Bearer token. A flag shows in the process list and the shell history: A2ACLI_BEARER does not
    #[arg(long, global = true, value_name = "TOKEN", help_heading = CREDENTIALS)]
    pub(crate) bearer: Option<String>,
    /// API key; the variable is A2ACLI_API_KEY
    #[arg(long, global = true, value_name = "KEY", help_heading = CREDENTIALS)]
    pub(crate) api_key: Option<String>,
    /// HTTP Basic credential; the variable is A2ACLI_BASIC
    #[arg(long, global = true, value_name = "USER:PASSWORD", help_heading = CREDENTIALS)]
    pub(crate) basic: Option<String>,

    /// Origin that credentials and service parameters may go to besides that of the agent's card,
    /// as https://agents.example; repeatable
    #[arg(long, global = true, value_name = "ORIGIN", value_parser = value::origin,
          value_delimiter = ',', help_heading = CREDENTIALS)]
    pub(crate) credential_origin: Vec<Origin>,

    /// Take any certificate for an agent's, so that anybody on the way reads and changes
    /// everything: for tries on one's own machine
    #[arg(long, global = true, help_heading = TLS)]
    pub(crate) insecure: bool,
    /// Certificates to trust beside those of the platform, as PEM: of agents, and with serve of
    /// issuers, webhooks and the collector of spans too
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = TLS)]
    pub(crate) ca_cert: Option<PathBuf>,
    /// Certificate to show to agents that ask for one, as PEM
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = TLS)]
    pub(crate) client_cert: Option<PathBuf>,
    /// Private key of that certificate, as PEM
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = TLS)]
    pub(crate) client_key: Option<PathBuf>,

    /// Format of the result: text or json
    #[arg(short, long, global = true, value_name = "FORMAT", value_parser = value::format,
          help_heading = OUTPUT)]
    pub(crate) output: Option<Format>,
    /// Print a JSON document on one line
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) compact: bool,
    /// Show every part, the message sent, history and metadata
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// Diagnostics on stderr, and with all but serve every message as it is on the wire, without
    /// secrets
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) debug: bool,
}
