//! Agents that speak an older revision, called as any other [`Agent`](a2a_operations::Agent).

mod jsonrpc;
pub(crate) mod opening;
mod rest;

pub use jsonrpc::JsonRpcClient;
pub use rest::RestClient;
