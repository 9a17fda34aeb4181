//! Messages with every kind of field, generated and read as those of `a2a-core` are.

#[path = "../../../crates/a2a-core/src/json/mod.rs"]
#[allow(missing_docs, reason = "documented in a2a-core")]
pub mod json;
#[path = "../../../crates/a2a-core/src/validate.rs"]
#[allow(dead_code, reason = "no field is REQUIRED here")]
mod validate;

use a2a_core::{Error, ErrorKind, Violation, well_known};

pub use self::validate::{Rules, Validate};

/// The messages of `proto/kinds.proto`.
#[allow(
    missing_docs,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::use_self,
    reason = "generated from proto/kinds.proto"
)]
pub mod v1 {
    use crate::{
        json::{enumeration, object, union},
        validate::{Rules, Validate},
    };

    include!(concat!(env!("OUT_DIR"), "/kinds.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/ties.rs"));
    include!(concat!(env!("OUT_DIR"), "/rules.rs"));
}

/// The messages of `proto/kinds.proto` with the JSON of pbjson.
#[allow(
    missing_docs,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::map_err_ignore,
    clippy::uninlined_format_args,
    clippy::use_self,
    reason = "generated from proto/kinds.proto"
)]
pub mod v1_of_pbjson {
    include!(concat!(env!("OUT_DIR"), "/pbjson/kinds.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/pbjson/kinds.v1.serde.rs"));
}

/// The encoded descriptor of `proto/kinds.proto`.
pub const DESCRIPTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));
