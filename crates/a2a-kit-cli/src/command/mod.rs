//! The commands, one file each.

mod auth;
mod card;
mod cli;
mod completion;
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
