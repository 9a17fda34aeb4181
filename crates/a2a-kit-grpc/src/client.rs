//! The client: a remote agent over a channel.

mod address;
mod agent;
mod channel;
mod codec;
pub(crate) mod failure;
mod held_body;
mod observed;
mod response;

pub use address::AddressError;
pub use agent::Client;
pub use channel::{Channel, channel};
pub use held_body::HeldMessage;
pub use response::read_event;
