//! Whether what belongs to somebody is to everybody else as if it had never existed.
//!
//! A request for a thing of somebody else is answered with the same bytes as the same request
//! for a thing that never was, by the same calls of the store, on every binding and in every
//! revision. `tests/isolation.rs` asks at each store.

mod allowed;
mod ask;
mod counted;
mod dialect;
mod grpc;
mod jsonrpc;
mod mask;
mod place;
mod rest;
mod suite;
mod table;
mod things;
mod wire;

pub use ask::{Probe, Target};
pub use dialect::Dialect;
pub use place::{CALLER, Place};
pub use suite::{run, run_without_callers};
pub use wire::{Answer, Ask, Client, Until};
