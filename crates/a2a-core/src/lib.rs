//! The types of the Agent2Agent (A2A) protocol.
//!
//! The types, ProtoJSON, validation, operations and routes are generated from the normative proto.
//! Add this crate and one binding to serve or call an agent. It has no runtime and no I/O.
//!
//! ```
//! use a2a_core::v1::{Message, Part};
//!
//! let message = Message::user("What is the weather?").with_part(Part::url("https://example.com/map.png"));
//! let json = serde_json::to_value(&message)?;
//! assert_eq!(json["role"], "ROLE_USER");
//! assert_eq!(json["parts"][1]["url"], "https://example.com/map.png");
//! # Ok::<(), serde_json::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod v1;
pub mod well_known;

pub mod card;
#[doc(hidden)]
pub mod card_members;
mod error;
#[doc(hidden)]
pub mod escape;
mod event;
mod extension;
pub mod host;
pub mod json;
pub mod media_type;
mod message;
mod operation;
mod part;
mod security;
mod task;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod url;
mod validate;
pub mod value_limit;
mod version;

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{SystemTime, UNIX_EPOCH},
};

use uuid::Uuid;

pub use error::{
    Detail, ERROR_DOMAIN, Error, ErrorKind, ParseError, Result, Violation, error_chain,
};
pub use extension::ExtensionSet;
pub use operation::Operation;
pub use v1::{
    AgentCard, Artifact, Message, Part, Role, Task, TaskState, part::Content as PartContent,
    stream_response::Payload as EventPayload,
};
pub use validate::Validate;
pub use version::ProtocolVersion;

/// For bindings.
#[doc(hidden)]
pub use {
    error::Codes,
    operation::{ROUTES, Request, Route},
    validate::Rules,
};

/// The encoded `google.protobuf.FileDescriptorSet` of the service, with imports and options.
pub const DESCRIPTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));

/// The name of the gRPC service.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

/// Returns a new time-ordered id (UUID version 7). It is greater than all ids before it in this
/// process, even if the clock was set back.
pub fn fresh_id() -> String {
    /// The time of the newest id.
    static NEWEST: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // In milliseconds since 1970, with twelve bits of a fraction (RFC 9562, section 6.2, method 3).
    let millis = since.as_secs() * 1000 + u64::from(since.subsec_millis());
    let now = (millis << 12) + u64::from(since.subsec_nanos()) % 1_000_000 * 4096 / 1_000_000;
    let newest = NEWEST.fetch_update(Relaxed, Relaxed, |newest| Some(now.max(newest + 1)));
    let time = now.max(newest.map_or(0, |newest| newest + 1));
    let (_, variant_and_random) = Uuid::new_v4().as_u64_pair();
    let version_and_time = (time >> 12 << 16) + (7 << 12) + (time & 0xfff);
    let id = Uuid::from_u64_pair(version_and_time, variant_and_random);
    id.hyphenated().encode_lower(&mut Uuid::encode_buffer()).to_owned()
}

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_version_7_and_in_order() {
        let ids: Vec<_> = (0..10_000).map(|_| fresh_id()).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        for id in ids.iter().map(|id| Uuid::parse_str(id).unwrap()) {
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
            assert!((0..60_000).contains(&(millis - (id.as_u128() >> 80))), "{id}");
        }
    }
}
