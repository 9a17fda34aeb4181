//! Messages with their ProtoJSON, server trait and client of `a2a.v1`, generated from `proto/a2a/v0_3/a2a.proto`.
#![allow(
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

include!(concat!(env!("OUT_DIR"), "/a2a.v1.rs"));
include!(concat!(env!("OUT_DIR"), "/a2a.v1.serde.rs"));
#[cfg(all(feature = "grpc", feature = "server"))]
include!(concat!(env!("OUT_DIR"), "/server/a2a.v1.A2AService.rs"));
#[cfg(all(feature = "client", feature = "grpc"))]
include!(concat!(env!("OUT_DIR"), "/client/a2a.v1.A2AService.rs"));
