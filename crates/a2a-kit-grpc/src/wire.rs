//! Calls, errors, deadlines and connections of other gRPC services, independent of the messages.
//!
//! Used by the service of older protocol revisions; not needed by agents and their callers.

#[cfg(feature = "client")]
pub use crate::client::{Channel, HeldMessage, channel, failure::decode, read_event};
#[cfg(feature = "server")]
pub use crate::server::{
    deadline::read as deadline,
    events::GuardedEvents,
    message::{Received, reject, respond, respond_with_stream},
    method::{Method, routes},
    service::{MAX_PAGE_BYTES, within},
};
pub use crate::{
    metadata::{read_position, write_position},
    status::encode_as,
};
