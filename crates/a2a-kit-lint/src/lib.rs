//! Rules for agent cards of the [Agent2Agent (A2A) protocol](https://a2a-protocol.org), and their
//! findings.
//!
//! [`check`] reads a card and reports violations of the schema, addresses that clients can't reach,
//! unusable security schemes, and instructions to language models that are hidden from people. Each
//! [`Finding`] names its [`Rule`] and the member as a JSON pointer, and [`apply_fixes`] makes the edits
//! of those that can be fixed in the text of the card.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod card;
mod finding;
mod fix;
mod pointer;
mod rule;
mod source;
mod strings;
mod subject;

pub use card::{check, is_invisible, malformed, network, rules};
pub use finding::{Edit, Finding, Findings};
pub use fix::{Fixed, apply_fixes};
pub use rule::{Rule, Severity};
pub use source::positions;
pub use strings::quote;
pub use subject::Subject;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
