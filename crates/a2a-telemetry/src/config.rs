//! What a program tells of itself, and to whom.

use std::path::PathBuf;

use crate::Otlp;

/// What a program tells of itself. The default is a log as text on standard error, from level
/// `info` on, and nothing else.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// How lines of the log look.
    pub format: Format,
    /// Which events are logged, as a filter of `tracing`: `info`, `warn,a2a_http=debug`. What
    /// libraries print of requests is [kept out](crate::quiet) unless it is asked for by name.
    pub filter: String,
    /// Whether lines of the log show the spans that they were written in, with their fields: a
    /// line that an executor writes names its task so. It costs some microseconds per request.
    pub shows_spans: bool,
    /// Whether lines of the log are collected for some milliseconds and written by a thread of
    /// their own, so that the log neither slows requests nor blocks them where nobody reads it. At
    /// most 1 MiB waits; more lines are dropped, counted and reported. What was not written yet is
    /// lost where the process is killed.
    pub is_buffered: bool,
    /// Where spans are sent to; nowhere without it.
    pub otlp: Option<Otlp>,
    /// Whether metrics are kept, for [`Guard::metrics_router`](crate::Guard::metrics_router).
    pub metrics: bool,
    /// Where security events go.
    pub audit: Audit,
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line, with the ids of trace and span where there are any.
    Json,
}

/// Where security events go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Audit {
    /// Into the log, where its filter lets them through.
    #[default]
    Log,
    /// To standard error as JSON lines, whatever the filter of the log.
    Stderr,
    /// To a file as JSON lines, whatever the filter of the log. Lines are added to what is there.
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
    /// Sets how lines of the log look.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Sets which events are logged.
    #[must_use]
    pub fn with_filter(mut self, filter: impl Into<String>) -> Self {
        self.filter = filter.into();
        self
    }

    /// Sets whether lines of the log show the spans that they were written in.
    #[must_use]
    pub fn with_spans(mut self, shows_spans: bool) -> Self {
        self.shows_spans = shows_spans;
        self
    }

    /// Sets whether a thread of its own writes the log.
    #[must_use]
    pub fn with_buffered(mut self, is_buffered: bool) -> Self {
        self.is_buffered = is_buffered;
        self
    }

    /// Sets where spans are sent to.
    #[must_use]
    pub fn with_otlp(mut self, otlp: impl Into<Option<Otlp>>) -> Self {
        self.otlp = otlp.into();
        self
    }

    /// Sets whether metrics are kept.
    #[must_use]
    pub fn with_metrics(mut self, metrics: bool) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets where security events go.
    #[must_use]
    pub fn with_audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }
}
