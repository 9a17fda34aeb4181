//! Server-sent events: [`response`] writes an event stream as a response body, [`decode`] reads
//! one.

mod buffer;
mod decoder;
mod reconnection_time;
#[cfg(feature = "server")]
mod writer;

pub use buffer::Buffer;
pub use decoder::{Decoded, Decoder, ServerSentEvent, decode};
pub use reconnection_time::ReconnectionTime;
#[cfg(feature = "server")]
pub use writer::{response, untyped_response};
