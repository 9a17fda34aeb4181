//! Why telemetry could not be initialized.

use std::io;

use a2a_core::ParseError;
use tracing::dispatcher::SetGlobalDefaultError;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why telemetry could not be initialized.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// The log filter is malformed.
    #[error(transparent)]
    Filter(#[from] ParseError),
    /// The HTTP client of an exporter could not be created.
    #[error("failed to create the OTLP client")]
    Otlp(#[source] BoxError),
    /// The configuration of OTLP or the standard variables are invalid.
    #[error("invalid OTLP configuration")]
    OtlpSettings(#[source] BoxError),
    /// The sample ratio is not from 0 to 1.
    #[error("sample ratio {0} is not from 0 to 1")]
    SampleRatio(f64),
    /// The process already has a metrics recorder.
    #[error("a global metrics recorder is already installed")]
    Recorder(#[source] BoxError),
    /// The upkeep thread of the metrics could not be started.
    #[error("failed to start the metrics upkeep thread")]
    Upkeep(#[source] io::Error),
    /// The log writer thread could not be started.
    #[error("failed to start the log writer")]
    Log(#[source] io::Error),
    /// The audit log could not be opened.
    #[error("failed to open the audit log")]
    Audit(#[source] io::Error),
    /// The process already has a global subscriber.
    #[error("a global tracing subscriber is already set")]
    Subscriber(#[source] SetGlobalDefaultError),
}

a2a_core::debug_as_chain!(InitError);
