//! Configuration.

use std::path::PathBuf;

use derive_setters::Setters;

use crate::Otlp;

/// The configuration of logs, traces, metrics and the audit log. The default is a text log on
/// standard error at level `info`, and nothing else.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct Config {
    /// The format of the log.
    pub format: Format,
    /// The `tracing` filter of the log, for example `warn,a2a_kit_http=debug`. Libraries that log
    /// headers and frames are [limited](crate::quiet) to `info` unless named.
    #[setters(into)]
    pub filter: String,
    /// Whether log lines include their spans with fields, such as the task of a line that an
    /// executor writes. Costs some microseconds per request.
    #[setters(rename = "with_spans")]
    pub shows_spans: bool,
    /// Whether log lines are batched for some milliseconds and written by a separate thread, so
    /// that a slow reader of standard error does not block requests. At most 1 MiB is pending;
    /// further lines are dropped, counted and reported. Pending lines are lost if the process is
    /// killed.
    #[setters(rename = "with_buffered")]
    pub is_buffered: bool,
    /// The collector of spans. Default: none.
    #[setters(into)]
    pub otlp: Option<Otlp>,
    /// Whether metrics are recorded, for
    /// [`TelemetryGuard::metrics_router`](crate::TelemetryGuard::metrics_router).
    pub metrics: bool,
    /// The destination of security events.
    pub audit: Audit,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Human-readable text.
    #[default]
    Text,
    /// One JSON object per line, with the ids of trace and span, if any.
    Json,
}

/// The destination of security events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Audit {
    /// The log, subject to its filter.
    #[default]
    Log,
    /// Standard error, as JSON lines, regardless of the log filter.
    Stderr,
    /// A file, to which JSON lines are appended, regardless of the log filter.
    File(PathBuf),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            format: Format::Text,
            filter: "info".to_owned(),
            shows_spans: true,
            is_buffered: false,
            otlp: None,
            metrics: false,
            audit: Audit::Log,
        }
    }
}
