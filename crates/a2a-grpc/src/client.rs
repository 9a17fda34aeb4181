//! The client: the agent at the other end of a channel.

mod address;
mod agent;
mod channel;
mod failure;

pub use address::AddressError;
pub use agent::Client;
