//! Observability of an agent: logs, traces, metrics and the audit log.
//!
//! A program calls [`init`] once, with a [`Config`], and keeps the [`TelemetryGuard`] until it exits.
//! An application with its own subscriber uses the parts instead: [`Traces::layer`],
//! [`AuditLog::layer`], [`Prometheus`] and [`propagation::install`].
//!
//! The libraries of the workspace only emit `tracing` events and `metrics`. Without a subscriber
//! these are discarded, and trace contexts are forwarded unchanged.
//!
//! ```no_run
//! use a2a_kit_telemetry::{Config, Format, Otlp};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::default()
//!     .with_format(Format::Json)
//!     .with_filter("info")
//!     .with_otlp(Otlp::from_environment())
//!     .with_metrics(true);
//! let guard = a2a_kit_telemetry::init(config)?;
//! // Serve the agent and `guard.metrics_router()`.
//! guard.shutdown().await;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod audit;
mod config;
mod error;
mod filter;
mod init;
mod json;
mod line_writer;
mod otlp;
mod otlp_client;
mod otlp_metrics;
mod process;
mod prometheus;
mod prometheus_text;
pub mod propagation;
mod span_queue;
mod text;

pub use a2a_kit_tls as tls;
pub use audit::{AUDIT, AuditLog};
pub use config::{Audit, Config, Format};
pub use error::InitError;
pub use filter::quiet;
pub use init::{TelemetryGuard, init};
pub use otlp::{Otlp, Traces};
pub use prometheus::Prometheus;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
