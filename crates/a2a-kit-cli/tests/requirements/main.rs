//! The requirements of the public CLI specification, each by tests named for its id.
//!
//! `cargo xtask compliance` runs them and writes a report. Tests in [`any_agent`] use only what
//! agents of other SDKs know too; the report has their results against such agents.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "only tests, and clippy looks for the attribute on their own functions"
)]

#[path = "../common/mod.rs"]
mod common;
mod support;

mod any_agent;
mod auth;
mod card;
mod catalog;
mod chat;
mod config;
mod conformance;
mod default;
mod download;
mod exit;
mod help;
mod interact;
mod login;
mod output;
mod poll;
mod push;
mod send;
mod skill;
mod task;
mod transport;
