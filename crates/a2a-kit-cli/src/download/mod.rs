//! Saving the artifacts of a task: parts become files, whose names are safe whatever the agent sent.

mod directory;
mod fetch;
pub(crate) mod file_name;
mod plan;
mod report;

pub(crate) use directory::{Download, new_file, unwritable};
pub(crate) use fetch::Fetcher;
pub(crate) use report::Report;
