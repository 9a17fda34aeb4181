//! ProtoJSON (spec §5.5).

mod enumeration;
mod form;
mod message;
mod read;
mod response;
mod scalar;
mod union;
mod writer;

#[allow(unused_imports, reason = "forms that no message of the current proto needs")]
pub(crate) use self::{
    enumeration::{Enumeration, Name, enumeration, spelled},
    form::{
        Borrowed, Form, Json, Map, Optional, Plain, Repeated, Singular, is_default, or_default,
        timestamp_in_response,
    },
    message::{Object, object},
    scalar::{Base64, Float, Integer},
    union::{Key, read_member, union, write_member},
};
pub use self::{
    read::{from_slice, from_value},
    response::{
        is_response, quote, response_from_slice, response_from_str, response_from_value,
        response_text,
    },
    writer::write,
};
