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

/// Returns a new time-ordered id (UUID version 7).
pub fn fresh_id() -> String {
    let mut text = uuid::Uuid::encode_buffer();
    uuid::Uuid::now_v7().hyphenated().encode_lower(&mut text).to_owned()
}

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
