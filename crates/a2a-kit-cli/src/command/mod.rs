//! The commands, one file each.

mod auth;
mod bench;
mod card;
mod chat;
mod cli;
mod completion;
mod config;
mod conformance;
mod listen;
mod part;
mod report_format;
mod run;
mod send;
mod serve;
mod skill;
mod store;
mod task;
mod usage;

pub(crate) use part::{PartFlag, parts};
pub(crate) use run::run;
