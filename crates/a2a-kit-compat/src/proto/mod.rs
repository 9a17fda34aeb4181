//! The messages of `a2a.v1`, shared by 0.2, 0.3 and the draft of 1.0, and their conversions.
//!
//! Conversions are [`From`] implementations; fallible ones are functions.

mod card;
mod convert;
mod file;
#[allow(dead_code, reason = "conversions exist in both directions, even if unused")]
pub(crate) mod json;
mod lenient;
mod message;
#[cfg(test)]
mod properties;
mod push;
mod request;
mod scheme;
mod task;
#[cfg(test)]
mod tests;

pub(crate) use crate::common::name::{config_name, ids_of_config, task_id, task_name};
pub(crate) use card::{from_v1 as card_from_v1, into_v1 as card_into_v1};
pub(crate) use file::{Files, expects_text};
pub use generated::*;
pub(crate) use push::CreateConfig;
pub(crate) use task::event_from_v1;

/// `google.protobuf.Empty`.
pub(crate) type Empty = ();

/// The descriptor of `a2a.v1` and its imports, for reflection.
#[cfg(feature = "grpc")]
pub const DESCRIPTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));

/// Messages with their ProtoJSON, and the client of `a2a.v1`.
#[allow(
    missing_debug_implementations,
    missing_docs,
    dead_code,
    unnameable_types,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::enum_glob_use,
    clippy::map_err_ignore,
    clippy::semicolon_if_nothing_returned,
    clippy::str_to_string,
    clippy::uninlined_format_args,
    clippy::use_self,
    clippy::wildcard_imports,
    reason = "generated from proto/a2a/v0_3/a2a.proto"
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/a2a.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/a2a.v1.serde.rs"));
    #[cfg(all(feature = "client", feature = "grpc"))]
    include!(concat!(env!("OUT_DIR"), "/client/a2a.v1.A2AService.rs"));
}
