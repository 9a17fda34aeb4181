//! The well-known protobuf types of A2A messages: timestamps and free-form JSON.
//!
//! Generated messages use these in place of `prost_types`, whose values have no JSON form.

#[cfg(test)]
mod arbitrary;
mod convert;
mod field_numbers;
mod json;
mod number;
mod timestamp;
mod value;
mod wire;
mod wire_decode;
mod wire_encode;

pub use number::Number;
pub use timestamp::Timestamp;
pub use value::{Struct, Value};
