//! The messages of `a2a.v1`, which 0.2, 0.3 and the draft of 1.0 share, and what they are in 1.0.
//!
//! [`From`] goes both ways; where a conversion can fail it is a function.

mod card;
mod file;
mod generated;
#[allow(dead_code, reason = "one function for each direction, whether or not it has a caller")]
pub(crate) mod json;
mod message;
mod name;
#[cfg(test)]
mod properties;
mod push;
mod request;
mod scheme;
pub(crate) mod spelling;
mod task;
#[cfg(test)]
mod tests;
mod union;

pub(crate) use card::{down as card_down, up as card_up};
pub(crate) use file::{Files, expects_text};
pub(crate) use generated::*;
pub(crate) use name::{config_name, ids_of_config, task_id, task_name};
pub(crate) use push::CreateConfig;
pub(crate) use task::event_down;

/// `google.protobuf.Empty`.
pub(crate) type Empty = ();

/// The descriptor of `a2a.v1` and what it imports, for reflection.
pub const DESCRIPTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));
