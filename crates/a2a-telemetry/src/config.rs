//! Configuration.

use std::path::PathBuf;

use crate::Otlp;

/// The configuration of logs, traces, metrics and the audit log. The default is a text log on
/// standard error at level `info`, and nothing else.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The format of the log.
    pub format: Format,
    /// The `tracing` filter of the log, for example `warn,a2a_http=debug`. Libraries that log
    /// headers and frames are [limited](crate::quiet) to `info` unless named.
    pub filter: String,
    /// Whether log lines include their spans with fields, such as the task of a line that an
    /// executor writes. Costs some microseconds per request.
    pub shows_spans: bool,
    /// Whether log lines are batched for some milliseconds and written by a separate thread, so
    /// that a slow reader of standard error does not block requests. At most 1 MiB is pending;
    /// further lines are dropped, counted and reported. Pending lines are lost if the process is
    /// killed.
    pub is_buffered: bool,
    /// The collector of spans. Default: none.
    pub otlp: Option<Otlp>,
    /// Whether metrics are recorded, for [`Guard::metrics_router`](crate::Guard::metrics_router).
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

impl Config {
    /// Sets the format of the log.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Sets the filter of the log.
    #[must_use]
    pub fn with_filter(mut self, filter: impl Into<String>) -> Self {
        self.filter = filter.into();
        self
    }

    /// Sets whether log lines include their spans.
    #[must_use]
    pub fn with_spans(mut self, shows_spans: bool) -> Self {
        self.shows_spans = shows_spans;
        self
    }

    /// Sets whether a separate thread writes the log.
    #[must_use]
    pub fn with_buffered(mut self, is_buffered: bool) -> Self {
        self.is_buffered = is_buffered;
        self
    }

    /// Sets the collector of spans.
    #[must_use]
    pub fn with_otlp(mut self, otlp: impl Into<Option<Otlp>>) -> Self {
        self.otlp = otlp.into();
        self
    }

    /// Sets whether metrics are recorded.
    #[must_use]
    pub fn with_metrics(mut self, metrics: bool) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets the destination of security events.
    #[must_use]
    pub fn with_audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }
}
