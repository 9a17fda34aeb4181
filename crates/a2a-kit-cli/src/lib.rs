//! The `a2a` command: serve, call and inspect A2A agents.
//!
//! A library only for programs that run the command with another demo agent, such as the agents for
//! conformance suites; it has no other interface than [`run`].
//!
//! [`command`] has one file for each command; each reads its [`settings`], talks to an agent
//! through [`agent`], follows tasks with [`watch`], saves [`artifacts`], and prints
//! through [`output`]. [`token`] stores the tokens of `a2a auth login`. `a2a serve` is in [`serve`],
//! with the built-in agents. [`listen`] receives webhooks.

mod agent;
mod artifacts;
mod chat;
mod command;
mod connection_hint;
mod failure;
mod listen;
mod log;
mod output;
mod redaction;
mod runtime;
mod serve;
mod settings;
mod signal;
mod token;
mod watch;
mod wire_log;

use std::{ffi::OsString, process::ExitCode};

pub use serve::DemoAgent;

/// Runs a command line, as the command `a2a` does with `()` for its own demo agent.
pub fn run(arguments: Vec<OsString>, demo: &dyn DemoAgent) -> ExitCode {
    command::run(arguments, &settings::Environment::of_process(), demo)
}
