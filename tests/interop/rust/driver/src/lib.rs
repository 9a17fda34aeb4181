//! What the interoperability drivers of the Rust SDKs share.
//!
//! A client driver implements [`Peer`] with the client of its SDK and hands it to [`run`], which
//! calls every operation and prints a line of JSON for each. A server driver takes its [`card`]
//! and the [`Step`]s of its answers from here, so that all agents behave the same.
//!
//! Requests and responses pass between this crate and a driver as JSON in the form of the
//! specification. The driver converts them from and to the types of its SDK.

mod agent;
mod expect;
mod message;
mod peer;
mod rows;
mod run;
mod webhook;

pub use agent::{Chunk, Step, announce, card, exit_with_parent, extended_card, steps};
pub use expect::{Error, Result};
pub use peer::{Answer, Events, Fault, Peer, Session, read, write};
pub use run::run;
