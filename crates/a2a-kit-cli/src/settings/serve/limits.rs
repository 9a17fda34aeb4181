//! The section `[limits]`.

use std::num::{NonZeroU32, NonZeroUsize};

use a2a_kit_operations::{CallerLimits, QuotaConfig, RunLimits, TaskLimits};

use super::{
    section::section,
    types::{Bytes, Duration, HeadBytes, RateLimit},
};

section! {
    /// Limits
    limits: Limits {
        /// Max size of a request body
        max_body_bytes: Bytes = "8MiB", "--max-body";
        /// Max number of JSON values (numbers, strings, arrays, objects) in a request, at all
        /// levels
        max_json_values: NonZeroUsize = 100_000, "--max-json-values" advanced;
        /// Max bytes of request bodies in transit or waiting to be parsed, across all connections;
        /// each address is limited to a quarter [default: 256MiB, at most an eighth of the memory
        /// limit of the container]
        max_pending_body_bytes: Bytes, "--max-pending-body-bytes" advanced;
        /// Max bytes of responses that peers have not read yet, across all connections; each
        /// address is limited to a quarter [default: 256MiB, at most an eighth of the memory limit
        /// of the container]
        max_pending_response_bytes: Bytes, "--max-pending-response-bytes" advanced;
        /// Max size of a page of tasks; a page has at least one task
        max_list_page_bytes: Bytes = "8MiB", "--max-list-page-bytes" advanced;
        /// Read timeout of request bodies: max time between two reads
        body_read_timeout: Duration = "30s", "--body-read-timeout" advanced;
        /// Total timeout of a request body
        body_total_timeout: Duration = "2m", "--body-total-timeout" advanced;
        /// Max size of a request head, from 8KiB to 16MiB
        max_header_bytes: HeadBytes = "64KiB", "--max-header-bytes" advanced;
        /// Read timeout of request heads, from their first byte
        header_read_timeout: Duration = "60s", "--header-read-timeout" advanced;
        /// Timeout of the first request on a connection
        first_request_timeout: Duration = "20s", "--first-request-timeout" advanced;
        /// Write timeout: max time in which a peer reads pending data
        write_timeout: Duration = "60s", "--write-timeout" advanced;
        /// Idle timeout of HTTP/1.1 connections; longer than that of load balancers in front
        http1_idle_timeout: Duration = "75s", "--http1-idle-timeout" advanced;
        /// Idle timeout of HTTP/2 connections
        idle_timeout: Duration = "10m", "--idle-timeout" advanced;
        /// Max open connections, at most the limit of file descriptors less 128; of further ones
        /// only health probes are served
        max_connections: NonZeroUsize = 65_536, "--max-connections" advanced;
        /// Max open connections per IPv4 address or IPv6 /64 network; further ones are closed
        /// [default: a quarter of --max-connections]
        max_connections_per_address: NonZeroUsize, "--max-connections-per-address" advanced;
        /// Max pending reset streams per HTTP/2 connection (rapid-reset protection)
        max_reset_streams: NonZeroUsize = 100, "--max-reset-streams" advanced;
        /// Max HTTP/2 control frames per connection in 10 s, such as PING and SETTINGS, in addition
        /// to those that requests and responses cause
        max_control_frames: NonZeroU32 = 1_000, "--max-control-frames" advanced;
        /// Max concurrent streams per HTTP/2 connection
        max_concurrent_streams: NonZeroU32 = 1_024, "--max-concurrent-streams" advanced;
        /// Max open gRPC health watches; each address is limited to a quarter
        max_health_watches: NonZeroUsize = 1_024, "--max-health-watches" advanced;
        /// Interval and timeout of HTTP/2 keep-alive PINGs
        http2_ping_interval: Duration = "20s", "--http2-ping-interval" advanced;
        /// Keep-alive interval of idle event streams
        keep_alive_interval: Duration = "4s", "--keep-alive-interval" advanced;
        /// Graceful shutdown: time to go on after the signal, while /readyz returns 503
        shutdown_delay: Duration = "0s", "--shutdown-delay";
        /// Graceful shutdown: timeout for requests and event streams, after which streams end
        stream_drain_timeout: Duration = "5s", "--stream-drain-timeout" advanced;
        /// Graceful shutdown: timeout for the remaining requests after that
        drain_timeout: Duration = "10s", "--drain-timeout" advanced;
        /// Rate limit per address, for example 600/m, or 20/s+100 with a burst of 100
        rate_limit_per_address: RateLimit, "--rate-limit-per-address";
        /// Rate limit per authenticated caller, across all operations
        rate_limit_per_caller: RateLimit, "--rate-limit-per-caller";
        /// Max running tasks per authenticated caller
        max_running_tasks: NonZeroUsize = 1_000, "--max-running-tasks";
        /// Max open event streams per authenticated caller
        max_open_streams: NonZeroUsize = 1_000, "--max-open-streams";
        /// Max open tasks, which have not ended, per authenticated caller
        max_open_tasks: NonZeroUsize = 10_000, "--max-open-tasks";
        /// Max bytes of stored tasks per authenticated caller
        max_stored_bytes: Bytes = "1GiB", "--max-stored-bytes";
        /// Max messages in the history of a task
        max_task_messages: NonZeroUsize = 10_000, "--max-task-messages" advanced;
        /// Max size of the history and metadata of a task
        max_task_history_bytes: Bytes = "64MiB", "--max-task-history-bytes" advanced;
        /// Max total size of the artifacts of a task
        max_task_artifact_bytes: Bytes = "256MiB", "--max-task-artifact-bytes" advanced;
        /// Max client messages in a task
        max_task_turns: NonZeroUsize = 1_000, "--max-task-turns" advanced;
        /// Timeout of the agent per message
        run_timeout: Duration = "24h", "--run-timeout";
        /// Timeout of the agent without progress [default: none]
        run_idle_timeout: Duration, "--run-idle-timeout";
        /// Apply the limits per caller to unauthenticated callers too, as one caller
        rate_limit_anonymous: bool = false, "--rate-limit-anonymous";
    }
}

impl Limits {
    /// The quota of each caller. An engine counts running tasks itself, `has_engine` says whether
    /// there is one.
    pub(crate) fn quota(&self, has_engine: bool) -> QuotaConfig {
        QuotaConfig::default()
            .with_rate(self.rate_limit_per_caller.map(|rate| rate.0))
            .with_running_tasks((!has_engine).then_some(self.max_running_tasks))
            .with_open_streams(self.max_open_streams)
            .with_anonymous_exempt(!self.rate_limit_anonymous)
    }

    /// The limits of connections and requests.
    pub(crate) fn http(&self) -> a2a_kit_http::Limits {
        let default = a2a_kit_http::Limits::default();
        let bytes = |given: Option<Bytes>, default| given.map_or(default, |bytes| bytes.0);
        let per_address = self.max_connections_per_address.map(NonZeroUsize::get);
        a2a_kit_http::Limits::default()
            .with_max_body_bytes(self.max_body_bytes.0)
            .with_max_json_values(self.max_json_values.get())
            .with_max_pending_body_bytes(bytes(
                self.max_pending_body_bytes,
                default.max_pending_body_bytes,
            ))
            .with_max_pending_response_bytes(bytes(
                self.max_pending_response_bytes,
                default.max_pending_response_bytes,
            ))
            .with_body_read_timeout(self.body_read_timeout.0)
            .with_body_total_timeout(self.body_total_timeout.0)
            .with_max_header_bytes(self.max_header_bytes.0)
            .with_header_read_timeout(self.header_read_timeout.0)
            .with_first_request_timeout(self.first_request_timeout.0)
            .with_write_timeout(self.write_timeout.0)
            .with_http1_idle_timeout(self.http1_idle_timeout.0)
            .with_idle_timeout(self.idle_timeout.0)
            .with_max_connections(self.max_connections.get())
            .with_max_connections_per_address(
                per_address.unwrap_or(self.max_connections.get() / 4).max(1),
            )
            .with_max_reset_streams(self.max_reset_streams.get())
            .with_max_control_frames(self.max_control_frames.get())
            .with_max_concurrent_streams(self.max_concurrent_streams.get())
            .with_max_health_watches(self.max_health_watches.get())
            .with_http2_ping_interval(self.http2_ping_interval.0)
            .with_keep_alive_interval(self.keep_alive_interval.0)
            .with_shutdown_delay(self.shutdown_delay.0)
            .with_stream_drain_timeout(self.stream_drain_timeout.0)
            .with_drain_timeout(self.drain_timeout.0)
    }

    /// The limits of each task.
    pub(crate) fn task(&self) -> TaskLimits {
        TaskLimits::default()
            .with_max_messages(self.max_task_messages.get())
            .with_max_history_bytes(self.max_task_history_bytes.0)
            .with_max_artifact_bytes(self.max_task_artifact_bytes.0)
            .with_max_turns(self.max_task_turns.get())
    }

    /// The limits of each run of the agent.
    pub(crate) fn run(&self) -> RunLimits {
        RunLimits::default()
            .with_max_run_time(self.run_timeout.0)
            .with_max_silence(self.run_idle_timeout.map(|timeout| timeout.0))
    }

    /// The limits of each caller in the engine.
    pub(crate) fn caller(&self) -> CallerLimits {
        CallerLimits::default()
            .with_running_tasks(self.max_running_tasks)
            .with_open_tasks(self.max_open_tasks)
            .with_stored_bytes(u64::try_from(self.max_stored_bytes.0).unwrap_or(u64::MAX))
            .with_anonymous_exempt(!self.rate_limit_anonymous)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::serve::LayeredSettings;

    #[test]
    fn defaults_are_those_of_the_library_except_for_streams_at_shutdown() {
        let limits = LayeredSettings::default().serve().unwrap().limits;
        let library =
            a2a_kit_http::Limits::default().with_stream_drain_timeout(Duration::from_secs(5));
        assert_eq!(limits.http(), library);
        assert_eq!(limits.task(), TaskLimits::default());
    }
}
