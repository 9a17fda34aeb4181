//! Server-sent events, both ways: [`response`] writes a stream of events as the body of an
//! answer, [`decode`] reads one.

mod buffer;
mod decoder;
mod writer;

pub use buffer::Buffer;
pub use decoder::{DecodeError, Decoded, Decoder, ServerSentEvent, decode};
pub use writer::{response, untyped_response};
