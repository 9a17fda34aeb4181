//! Servers for the older revisions.

mod alias;
pub(crate) mod dispatch;
mod extended_card;
mod jsonrpc;
pub(crate) mod options;
mod rest;
mod send_timeout;
pub(crate) mod stream;

pub use extended_card::extended_card;
pub use jsonrpc::{jsonrpc, jsonrpc_handler};
pub use rest::rest;
