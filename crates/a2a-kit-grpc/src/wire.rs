//! Error, deadline and connection handling for other gRPC services, independent of the messages.
//!
//! Used by the service of older protocol revisions; not needed by agents and their callers.

#[cfg(feature = "client")]
pub use crate::client::{Channel, HeldMessage, channel, failure::decode, read_event};
#[cfg(feature = "server")]
pub use crate::server::{
    FrameGuard,
    codec::{OwnedCodec, Undecoded, Undecoder},
    deadline::read as deadline,
    events::GuardedEvents,
    service::{MAX_PAGE_BYTES, within},
};
pub use crate::{
    codec::{MessageCodec, MessageEncoder},
    metadata::{read_position, write_position},
    status::encode_as,
};
