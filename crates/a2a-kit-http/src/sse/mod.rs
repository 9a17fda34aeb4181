//! Server-sent events: [`response`] writes an event stream as a response body, [`decode`] reads
//! one.

mod buffer;
mod decoder;
mod writer;

pub use buffer::Buffer;
pub use decoder::{DecodeError, Decoded, Decoder, ServerSentEvent, decode};
pub use writer::{response, untyped_response};
