//! Agents that are described by a file: rules that say how messages are answered.
//!
//! The demo agent and the agent of conformance suites are such [files](file); `bench` is compiled.

mod agent;
mod authorize;
mod bench;
mod call;
mod card;
mod card_fault;
mod client_parse;
mod fault;
mod file;
mod rule;
mod schedule;
mod step;
mod template;
mod turn;

pub(crate) use authorize::Authorizations;
pub(crate) use bench::BenchAgent;
pub(crate) use card::extended_card;
pub(crate) use card_fault::layer as card_fault_layer;
pub(crate) use fault::{Fault, layer as fault_layer};
pub(crate) use file::{Profile, Script, Switch};
pub(crate) use schedule::Target;
pub(crate) use turn::ScriptAgent;
