//! Load for `a2a bench`.
//!
//! [`load`] decides when requests start, [`target`] makes them, [`measurement`] adds up what
//! happened, [`report`] prints it, and [`baseline`] compares it with an earlier report.

mod baseline;
mod exchange;
mod histogram;
mod load;
mod measurement;
mod operation;
mod ownership;
mod progress;
mod report;
mod settings;
mod summary;
mod target;
mod traffic;

pub(crate) use baseline::Baseline;
pub(crate) use load::{Amount, Load, MAX_CONCURRENCY};
pub(crate) use measurement::Shards;
pub(crate) use operation::Operation;
pub(crate) use ownership::require_loopback;
pub(crate) use progress::Progress;
pub(crate) use report::Report;
pub(crate) use settings::BenchSettings;
pub(crate) use summary::Summary;
pub(crate) use target::{Target, TargetSettings};
