//! Agents, sandboxes and the evidence of a run.

mod agent;
mod evidence;
mod sandbox;

pub(crate) use agent::Agent;
pub(crate) use evidence::{Default, overridden, shipped};
pub(crate) use sandbox::{Sandbox, assert_failure, failure};

/// The bindings, as `--transport` names them.
pub(crate) const BINDINGS: [&str; 3] = ["jsonrpc", "http+json", "grpc"];

/// Calls a function with each binding.
pub(crate) fn over_each_binding(run: impl FnMut(&'static str)) {
    BINDINGS.into_iter().for_each(run);
}
