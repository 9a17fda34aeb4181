//! The commands, one file each.

mod auth;
mod bench;
mod card;
mod cli;
mod completion;
mod conformance;
mod listen;
mod man;
mod part;
mod run;
mod send;
mod serve;
mod skill;
mod store;
mod task;
mod usage;

pub(crate) use run::run;
