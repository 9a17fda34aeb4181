//! The flags of `a2a serve --proxy`.

use std::path::PathBuf;

use a2a_client::Transport;
use a2a_core::ProtocolVersion;
use clap::Args;

use crate::settings::value;

const PROXY: &str = "Proxy";

/// How an agent behind this server is found and called. Its credentials and service parameters
/// are those of every command.
#[derive(Args, Debug)]
#[command(next_help_heading = PROXY)]
pub(crate) struct Proxy {
    /// Offer another agent as this one: a reference as for -a; without one, what -a or -e names
    #[arg(long = "proxy", group = "mode", value_name = "REF", num_args = 0..=1,
          default_missing_value = "")]
    pub(crate) reference: Option<String>,
    /// Binding to use with the agent behind; repeatable, most wanted first
    #[arg(long, value_name = "BINDING", value_parser = value::binding,
          value_delimiter = ',')]
    pub(crate) upstream_transport: Vec<Transport>,
    /// Protocol version to speak with the agent behind: 1.0, draft, 0.3, 0.2, 0.1; the newest that
    /// it has without this
    #[arg(long, value_name = "VERSION", value_parser = value::version)]
    pub(crate) upstream_version: Option<ProtocolVersion>,
    /// Pass the Authorization of callers on, in place of credentials of the proxy's own
    #[arg(long)]
    pub(crate) forward_auth: bool,
    /// Write all traffic to this file, one JSON document a line, without secrets
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}
