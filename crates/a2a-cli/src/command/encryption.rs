//! The flags of `a2a serve` that say how connections are encrypted.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, ValueHint};

use crate::settings::value;

const TLS: &str = "TLS";

/// How connections are encrypted.
#[derive(Args, Debug)]
#[command(next_help_heading = TLS)]
pub(crate) struct Encryption {
    /// Certificate of the server as PEM, and behind it those that lead to its root: with it,
    /// every port speaks TLS only. Files are read again when they change
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Certificates of those who vouch for clients, as PEM: clients are asked for a certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Whether clients have to have a certificate, where they are asked for one
    #[arg(long, value_enum, default_value_t, value_name = "WHETHER")]
    pub(crate) tls_client_auth: ClientAuth,
    /// Lists of certificates of clients that are not taken any more, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) tls_revocations: Option<PathBuf>,
    /// Refuse TLS 1.2
    #[arg(long, hide_short_help = true)]
    pub(crate) tls_only_13: bool,
    /// Time for which browsers use this host over TLS only; 0 says nothing
    #[arg(long, default_value = "8760h", value_name = "DURATION",
          value_parser = value::duration, hide_short_help = true)]
    pub(crate) hsts: Duration,
    /// Time in which a TLS handshake has to be done
    #[arg(long, default_value = "10s", value_name = "DURATION",
          value_parser = value::duration, hide_short_help = true)]
    pub(crate) handshake_timeout: Duration,
    /// Most TLS handshakes at a time
    #[arg(long, default_value_t = 1024, value_name = "N", hide_short_help = true)]
    pub(crate) max_handshakes: usize,
    /// Refuse to serve in clear beyond this machine, and agents that everybody may call
    #[arg(long)]
    pub(crate) production: bool,
}

/// Whether clients have to have a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientAuth {
    /// No connection without one.
    #[default]
    Required,
    /// A client may have none; one that it has must be good.
    Optional,
}
