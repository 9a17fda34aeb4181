//! The command as a client: sending, reading, following, cards, logins, settings and help.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "only tests, and clippy looks for the attribute on their own functions"
)]

#[path = "../common/mod.rs"]
mod common;

mod auth_required;
mod bench;
mod card;
mod card_lint;
mod chat;
mod command_reference;
mod config;
mod conformance;
mod credential_sources;
mod debug;
mod download;
mod first_errors;
mod foreign;
mod foreign_responses;
mod hostile_text;
mod listen;
mod login;
mod man;
mod naming;
mod oidc_provider;
mod origins;
mod push_config;
mod send;
mod skill;
mod task;
mod terminal;
mod token_store;
mod usage;
mod waiting;
