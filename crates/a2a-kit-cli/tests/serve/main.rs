//! `a2a serve`: what it serves, to whom, and within which limits.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "only tests, and clippy looks for the attribute on their own functions"
)]

#[path = "../common/mod.rs"]
mod common;

mod access;
mod demo_word;
mod encryption;
mod exec;
mod exec_programs;
mod exec_safety;
mod gateway_isolation;
mod limits;
mod model;
mod observe;
mod operation_log;
mod proxy;
mod replay;
mod revisions;
mod script;
mod script_file;
mod script_schedule;
mod secrets;
mod serve;
mod settings;
mod store;
mod trust;
mod upstream;
mod webhook_key;
