//! Clients of agents that speak an older revision; each is an [`Agent`](a2a_kit_operations::Agent).

pub(crate) mod call;
mod extended_card;
mod jsonrpc;
mod normalize;
mod rest;
mod subscribe;

pub use jsonrpc::JsonRpcClient;
pub use rest::RestClient;
