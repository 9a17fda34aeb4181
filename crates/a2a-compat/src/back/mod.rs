//! Agents that speak an older revision, called as any other [`Agent`](a2a_operations::Agent).

mod attach;
mod extended_card;
pub(crate) mod history;
mod jsonrpc;
pub(crate) mod opening;
pub(crate) mod operation;
mod rest;

pub(crate) use operation::Back;

pub use jsonrpc::JsonRpcClient;
pub use rest::RestClient;
