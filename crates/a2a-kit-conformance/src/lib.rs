//! Conformance checks for agents of the [Agent2Agent (A2A) protocol](https://a2a-protocol.org),
//! whatever language they are written in.
//!
//! [`Conformance`] fetches the card of an agent, makes a fixed series of requests on each of its
//! interfaces, and judges the recorded exchanges by the requirements of the specification. Each
//! finding of the [`Report`] names the requirement, and has the exchange that proves it. What could
//! not be tried is reported as not measured, never as passed.
//!
//! JSON-RPC and HTTP+JSON are checked on the bytes, gRPC on its frames and trailers. Revision 1.0 is
//! checked in depth; the draft, 0.3, 0.2 and 0.1 by a sound core.
//!
//! ```no_run
//! use a2a_kit_conformance::Conformance;
//!
//! # async fn example() -> Result<(), a2a_kit_conformance::RunError> {
//! let report = Conformance::builder().run("localhost:8080", |_| {}).await?;
//! for failure in report.failures() {
//!     println!("{}: {}", failure.rule.id, failure.rule.title);
//! }
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod check;
mod conformance;
mod evidence;
mod exchange;
mod expect;
mod fetch;
mod fold;
mod glob;
mod identity;
mod interfaces;
mod known;
mod live_card;
mod prompts;
mod recorder;
mod report;
mod scenario;
mod step;
mod timestamp;
mod transcript;
mod verdict;
mod webhook;
mod wire;

/// Rules, findings and the formats of reports.
pub use a2a_kit_lint as lint;
pub use conformance::{Conformance, Progress};
pub use fetch::RunError;
pub use identity::Credential;
pub use known::KnownResults;
#[doc(hidden)]
pub use live_card::{CardResponses, check_interfaces};
pub use prompts::Prompts;
#[doc(hidden)]
pub use report::CheckInfo;
pub use report::Report;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
