//! The flags of `a2a serve` that say who may call. Callers with names of their own are in the
//! settings file only.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::settings::value;

const ACCESS: &str = "Callers";

/// Who may call.
#[derive(Args, Debug)]
#[command(next_help_heading = ACCESS)]
pub(crate) struct Access {
    /// Bearer token that callers need. A flag shows in the process list: the variable
    /// A2ACLI_SERVE_AUTH_REQUIRE_BEARER and the settings file don't
    #[arg(long, value_name = "TOKEN")]
    pub(crate) require_bearer: Option<String>,
    /// API key that callers need
    #[arg(long, value_name = "KEY")]
    pub(crate) require_api_key: Option<String>,
    /// Where callers have their API key
    #[arg(long, value_enum, default_value_t, value_name = "WHERE", hide_short_help = true)]
    pub(crate) api_key_in: KeyPlace,
    /// Header, parameter or cookie that has the API key
    #[arg(long, default_value = "X-API-Key", value_name = "NAME", hide_short_help = true)]
    pub(crate) api_key_name: String,
    /// What challenges name as the realm
    #[arg(long, default_value = "a2a", value_name = "NAME", hide_short_help = true)]
    pub(crate) realm: String,
    /// Let callers in too who show nothing; they share what is theirs
    #[arg(long)]
    pub(crate) anonymous: bool,
    /// Failures to authenticate that cost an address nothing
    #[arg(long, default_value_t = 10, value_name = "N", hide_short_help = true)]
    pub(crate) free_failures: u32,
    /// First pause of an address that failed more often; each further failure doubles it
    #[arg(long, default_value = "1s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) first_pause: Duration,
    /// Longest such pause
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) longest_pause: Duration,
    /// Proxy that is believed where it says who calls (X-Forwarded-For): an address or a network;
    /// repeatable
    #[arg(long, value_name = "CIDR")]
    pub(crate) trusted_proxy: Vec<String>,
    /// Origin whose pages in browsers may call, such as https://app.example; repeatable, * is
    /// every one. Default: none where everybody may call, every one where callers authenticate
    #[arg(long, value_name = "ORIGIN", value_parser = value::web_origin)]
    pub(crate) allowed_origin: Vec<String>,
    /// Host that requests may name where everybody may call, beside this machine's own names,
    /// that of --public-url and addresses that are listened on; repeatable, * is every one
    #[arg(long, value_name = "HOST")]
    pub(crate) allowed_host: Vec<String>,
    /// Bearer token without which the extended card is not given, where callers need nothing else
    #[arg(long, value_name = "TOKEN")]
    pub(crate) extended_card_token: Option<String>,
}

/// Where callers have their API key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyPlace {
    /// In a header.
    #[default]
    Header,
    /// In the query of the URL, where logs of proxies may show it.
    Query,
    /// In a cookie.
    Cookie,
}

impl KeyPlace {
    /// The word of the card.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Query => "query",
            Self::Cookie => "cookie",
        }
    }
}
