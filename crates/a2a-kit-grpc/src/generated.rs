//! The server trait, generated from `proto/a2a/v1/a2a.proto`.
#![allow(
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
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

include!(concat!(env!("OUT_DIR"), "/lf.a2a.v1.A2AService.rs"));
