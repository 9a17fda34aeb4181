//! What operators see of an agent: logs, traces, metrics and the audit log.
//!
//! A program calls [`init`] once, with a [`Config`], and keeps the [`Guard`] until it ends. An
//! application that has a subscriber of its own takes the parts instead: [`Traces::layer`],
//! [`AuditLog::layer`], [`Prometheus`] and [`propagation::install`].
//!
//! Without any of it, the libraries of the workspace write `tracing` events and `metrics` that
//! nobody listens to, and pass trace contexts on as they came.
//!
//! ```no_run
//! use a2a_telemetry::{Config, Format, Otlp};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::default()
//!     .with_format(Format::Json)
//!     .with_filter("info")
//!     .with_otlp(Otlp::from_environment())
//!     .with_metrics(true);
//! let guard = a2a_telemetry::init(config)?;
//! // Serve, with `guard.metrics_router()` beside the agent.
//! guard.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod audit;
mod config;
mod courier;
mod filter;
mod init;
mod json;
mod line_writer;
mod otlp;
mod prometheus;
pub mod propagation;

pub use a2a_tls as tls;
pub use audit::{AUDIT, AuditLog};
pub use config::{Audit, Config, Format};
pub use filter::{FilterError, quiet};
pub use init::{Guard, InitError, init};
pub use otlp::{Otlp, OtlpError, Traces};
pub use prometheus::{Prometheus, PrometheusError};
