//! Reports of runs, and their formats.

mod json;
mod junit;
mod markdown;
mod model;
mod sarif;
mod text;
mod yaml;

pub use model::{CheckInfo, CheckResult, Report, Summary};
