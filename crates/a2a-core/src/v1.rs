//! The messages of protocol 1.0, generated from `proto/a2a/v1/a2a.proto` (`lf.a2a.v1`).
//!
//! Fields that hold an enum are `i32`, as prost makes them; each has an accessor of the same
//! name that returns the enum, for example [`TaskStatus::state`].
#![allow(
    missing_docs,
    unreachable_pub,
    deprecated,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::enum_glob_use,
    clippy::semicolon_if_nothing_returned,
    clippy::str_to_string,
    clippy::uninlined_format_args,
    clippy::use_self,
    clippy::wildcard_imports,
    reason = "generated from proto/a2a/v1/a2a.proto"
)]

use crate::{
    json::{enumeration, object},
    validate::{Rules, Validate},
};

include!(concat!(env!("OUT_DIR"), "/lf.a2a.v1.rs"));
include!(concat!(env!("OUT_DIR"), "/unions.rs"));
include!(concat!(env!("OUT_DIR"), "/ties.rs"));
include!(concat!(env!("OUT_DIR"), "/rules.rs"));
