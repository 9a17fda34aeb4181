//! Isolation between owners and tenants.
//!
//! A request for a task of another owner gets the same bytes as one for a task that never existed,
//! through the same store calls, on every binding and in every revision. `tests/isolation.rs` runs
//! the suite with each store, and between the agents of one port; `gateway_isolation.rs` of the
//! command line runs it through `a2a serve --proxy`.

mod cluster;
mod dialect;
mod fixtures;
mod gateway;
mod grpc;
mod jsonrpc;
mod mask;
mod permitted;
mod probe;
mod recording_store;
mod rest;
mod sdk;
mod suite;
mod table;
mod wire;

pub use cluster::{CALLER, Callers, Cluster};
pub use dialect::Dialect;
pub use gateway::{gateway_key, gateway_settings};
pub use probe::{Probe, Target};
pub use sdk::run_before_sdk;
pub use suite::{run, run_on, run_without_callers};
pub use wire::{Answer, Client, Until, WireRequest};
