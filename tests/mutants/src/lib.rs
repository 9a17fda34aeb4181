//! Mutants: agents that break one requirement of the specification each.
//!
//! They test `a2a conformance`, which must find each of them and name its requirement.
//! [`MUTANTS`] is the table; [`start`] serves a mutant, or the faultless agent. The program
//! `mutant` serves one until its standard input ends, and `cargo xtask mutants` runs all of them.

mod agent;
mod interface;
mod mutant;
mod server;
mod table;
mod wire;

pub use agent::{AgentFault, FaultyAgent, demo_engine};
pub use interface::{Binding, Interface, Revision};
pub use mutant::{Fault, Mutant};
pub use server::{Running, TOKENS, start};
pub use table::{MUTANTS, find};
pub use wire::{Exchange, Texts};
