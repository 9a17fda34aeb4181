//! The commands, one file each.

mod access;
mod auth;
mod card;
mod cli;
mod completion;
mod encryption;
mod exec;
mod keeping;
mod limits;
mod part;
mod proxy;
mod run;
mod send;
mod serve;
mod store;
mod task;
mod task_limits;
mod usage;

#[cfg(test)]
pub(crate) use cli::Cli;
pub(crate) use encryption::{ClientAuth, Encryption};
pub(crate) use exec::Io;
pub(crate) use keeping::Keeping;
pub(crate) use proxy::Proxy;
pub(crate) use run::run;
pub(crate) use serve::{GrpcInCard, Serve};
