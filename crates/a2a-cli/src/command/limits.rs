//! The flags of `a2a serve` that say what callers are held to.

use std::{num::NonZeroUsize, time::Duration};

use a2a_operations::{QuotaConfig, rate::Rate};
use clap::Args;

use crate::settings::value;

pub(super) const LIMITS: &str = "Limits";

/// What connections and requests are held to.
#[derive(Args, Debug)]
#[command(next_help_heading = LIMITS)]
pub(crate) struct Limits {
    /// Largest request body
    #[arg(long, default_value = "8MiB", value_name = "BYTES", value_parser = value::bytes)]
    pub(crate) max_body: usize,
    /// Most JSON values (numbers, strings, arrays, objects) in one request, at every level
    #[arg(long, default_value_t = 100_000, value_name = "N",
          value_parser = at_least_one::<usize>, hide_short_help = true)]
    pub(crate) max_json_values: usize,
    /// Most bytes of request bodies that are on their way or wait to be parsed, all connections
    /// together; one address has a quarter
    #[arg(long, default_value = "256MiB", value_name = "BYTES", value_parser = value::bytes,
          hide_short_help = true)]
    pub(crate) max_pending_bodies: usize,
    /// Most of responses that is held for peers that have not read them, all connections together;
    /// one address has a quarter
    #[arg(long, default_value = "256MiB", value_name = "BYTES", value_parser = value::bytes,
          hide_short_help = true)]
    pub(crate) max_pending_responses: usize,
    /// Size of a page of tasks beyond which the next task is on the next page
    #[arg(long, default_value = "8MiB", value_name = "BYTES", value_parser = value::bytes,
          hide_short_help = true)]
    pub(crate) max_list_page: usize,
    /// Longest silence in the middle of a request body
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) body_timeout: Duration,
    /// Time for a whole request body, however it is spread
    #[arg(long, default_value = "2m", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) body_time: Duration,
    /// Largest head of a request
    #[arg(long, default_value = "64KiB", value_name = "BYTES", value_parser = header_bytes,
          hide_short_help = true)]
    pub(crate) max_header: u32,
    /// Time in which the head of a request has to arrive, and for which an idle connection of
    /// HTTP/1.1 is kept
    #[arg(long, default_value = "60s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) header_timeout: Duration,
    /// Time in which a new connection has to make its first request
    #[arg(long, default_value = "20s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) first_request_timeout: Duration,
    /// Time in which a peer has to take what waits for it
    #[arg(long, default_value = "60s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) write_timeout: Duration,
    /// Time after which an idle connection of HTTP/2 is closed
    #[arg(long, default_value = "10m", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) idle_timeout: Duration,
    /// Most connections at a time; more wait
    #[arg(long, default_value_t = 65_536, value_name = "N",
          value_parser = at_least_one::<usize>, hide_short_help = true)]
    pub(crate) max_connections: usize,
    /// Most connections of one address at a time; more are closed
    #[arg(long, default_value_t = 16_384, value_name = "N",
          value_parser = at_least_one::<usize>, hide_short_help = true)]
    pub(crate) max_connections_per_address: usize,
    /// Most requests that a connection of HTTP/2 may take back before they are looked at
    #[arg(long, default_value_t = 100, value_name = "N",
          value_parser = at_least_one::<usize>, hide_short_help = true)]
    pub(crate) max_reset_streams: usize,
    /// Most frames that carry nothing, such as pings, of a connection of HTTP/2 in 10 s
    #[arg(long, default_value_t = 1_000, value_name = "N",
          value_parser = at_least_one::<u32>, hide_short_help = true)]
    pub(crate) max_control_frames: u32,
    /// Most requests at a time on one connection of HTTP/2
    #[arg(long, default_value_t = 1_024, value_name = "N",
          value_parser = at_least_one::<u32>, hide_short_help = true)]
    pub(crate) max_http2_streams: u32,
    /// Most streams that watch the health of the server over gRPC; one address has a quarter
    #[arg(long, default_value_t = 1_024, value_name = "N",
          value_parser = at_least_one::<usize>, hide_short_help = true)]
    pub(crate) max_health_watches: usize,
    /// Silence on a connection of HTTP/2 after which it is pinged
    #[arg(long, default_value = "20s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) http2_ping: Duration,
    /// Silence on an event stream after which a keep-alive is written
    #[arg(long, default_value = "4s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) keep_alive: Duration,
    /// Time that streams may go on after the server was asked to stop
    #[arg(long, default_value = "5s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) stream_grace: Duration,
    /// Time that other requests may go on after that
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = value::duration,
          hide_short_help = true)]
    pub(crate) grace: Duration,
    /// How often one address may call, for example 600/m or 20/s+100
    #[arg(long, value_name = "RATE")]
    pub(crate) address_rate: Option<Rate>,
    /// How often one caller may call, all operations together
    #[arg(long, value_name = "RATE")]
    pub(crate) caller_rate: Option<Rate>,
    /// Most tasks of one caller that work at a time; for callers that have authenticated
    #[arg(long, default_value = "1000", value_name = "N")]
    pub(crate) max_running_tasks: NonZeroUsize,
    /// Most open streams of one caller; for callers that have authenticated
    #[arg(long, default_value = "1000", value_name = "N")]
    pub(crate) max_open_streams: NonZeroUsize,
    /// Hold callers that have not authenticated to the limits of one caller, all together
    #[arg(long)]
    pub(crate) limit_anonymous: bool,
}

impl Limits {
    /// What each caller may have. Tasks are counted here only where they run `elsewhere`; an
    /// engine counts its own.
    pub(crate) fn of_callers(&self, elsewhere: bool) -> QuotaConfig {
        QuotaConfig::default()
            .with_rate(self.caller_rate)
            .with_running_tasks(elsewhere.then_some(self.max_running_tasks))
            .with_open_streams(self.max_open_streams)
            .with_anonymous_exempt(!self.limit_anonymous)
    }

    /// The limits as connections know them.
    pub(crate) fn of_connections(&self) -> a2a_http::Limits {
        a2a_http::Limits::default()
            .with_max_body_bytes(self.max_body)
            .with_max_json_values(self.max_json_values)
            .with_max_pending_body_bytes(self.max_pending_bodies)
            .with_max_pending_response_bytes(self.max_pending_responses)
            .with_body_read_timeout(self.body_timeout)
            .with_body_time(self.body_time)
            .with_max_header_bytes(self.max_header)
            .with_header_read_timeout(self.header_timeout)
            .with_first_request_timeout(self.first_request_timeout)
            .with_write_timeout(self.write_timeout)
            .with_idle_timeout(self.idle_timeout)
            .with_max_connections(self.max_connections)
            .with_max_connections_per_address(self.max_connections_per_address)
            .with_max_reset_streams(self.max_reset_streams)
            .with_max_control_frames(self.max_control_frames)
            .with_max_concurrent_streams(self.max_http2_streams)
            .with_max_health_watches(self.max_health_watches)
            .with_http2_ping(self.http2_ping)
            .with_keep_alive(self.keep_alive)
            .with_stream_grace(self.stream_grace)
            .with_grace(self.grace)
    }
}

fn header_bytes(text: &str) -> Result<u32, String> {
    let bytes = value::bytes(text)?;
    match u32::try_from(bytes) {
        Ok(bytes) if (8 << 10..=16 << 20).contains(&bytes) => Ok(bytes),
        _ => Err("expected a size of 8KiB to 16MiB".into()),
    }
}

pub(super) fn at_least_one<N: std::str::FromStr + PartialOrd + From<u8>>(
    text: &str,
) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| "expected a whole number of at least 1".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::FromArgMatches as _;

    use super::*;

    #[test]
    fn what_is_built_in_is_what_the_library_has_apart_from_streams() {
        let command = Limits::augment_args(clap::Command::new("a2a"));
        let matches = command.try_get_matches_from(["a2a"]).unwrap();
        let limits = Limits::from_arg_matches(&matches).unwrap().of_connections();
        let library = a2a_http::Limits::default().with_stream_grace(Duration::from_secs(5));
        assert_eq!(limits, library);
    }
}
