//! Load for `a2a bench`.
//!
//! [`load`] decides when requests start, [`target`] makes them, [`measurement`] adds up what
//! happened, [`report`] prints it, and [`baseline`] compares it with an earlier report.

mod baseline;
mod load;
mod measurement;
mod report;
mod summary;
mod target;

pub(crate) use baseline::{Baseline, BenchSettings};
pub(crate) use load::{Amount, Load, MAX_CONCURRENCY};
pub(crate) use measurement::Shards;
pub(crate) use report::{Progress, Report};
pub(crate) use summary::Summary;
pub(crate) use target::{Operation, Target, TargetSettings};
