//! The draft of 1.0: methods of 1.0, with kebab-case states, nested files and data, `blocking`, and
//! resource names.

mod card;
mod config;
mod dialect;
mod list;
mod marker;
mod problem;
mod rest;
#[cfg(test)]
mod tests;

pub use card::{read_card, write_card};
pub use dialect::V1Draft;
pub(crate) use marker::{has_draft_marker, has_v1_marker};
pub use problem::{PROBLEM_JSON, Problem, grpc_status, http_status, problem, read_problem};
pub(crate) use rest::route;
pub use rest::{EncodedRequest, read_rest, write_rest};
