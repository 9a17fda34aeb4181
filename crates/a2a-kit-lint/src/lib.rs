//! Rules for agent cards of the [Agent2Agent (A2A) protocol](https://a2a-protocol.org), and their
//! findings.
//!
//! [`check`] reads a card and reports violations of the schema, addresses that clients can't reach,
//! unusable security schemes, and instructions to language models that are hidden from people. Each
//! [`Finding`] names its [`Rule`] and the member as a JSON pointer, and [`apply_fixes`] makes the edits
//! of those that can be fixed in the text of the card.
//!
//! ```
//! use a2a_kit_lint::{Subject, check};
//!
//! let json = br#"{"name": "Echo", "supportedInterfaces": [
//!     {"url": "http://localhost:8080", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}"#;
//! let subject = Subject::read(json)?.with_url("https://agent.example/.well-known/agent-card.json");
//! let (findings, _) = check(&subject).into_sorted();
//! let loopback = findings.iter().find(|finding| finding.rule.id == "loopback-url").unwrap();
//! assert_eq!(loopback.pointer.as_deref(), Some("/supportedInterfaces/0/url"));
//! # Ok::<(), a2a_core::Error>(())
//! ```
//!
//! Nothing here needs a runtime, the network or files, so that front ends in browsers can run the
//! rules. Findings and rules serialize.
//!
//! | To | see |
//! |---|---|
//! | check a card | [`Subject`], [`check`] |
//! | report what keys or a running agent show | [`network`], [`Findings::add`] |
//! | list the rules | [`rules`] |
//! | show where a finding is in a text | [`positions`] |
//! | fix a card | [`apply_fixes`] |
//! | write a report of results | [`CheckResult`], [`junit()`], [`markdown()`], [`sarif()`], [`yaml()`] |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod address;
mod card;
mod finding;
mod fix;
mod junit;
mod markdown;
mod outcome;
mod pointer;
mod rule;
mod sarif;
mod source;
mod strings;
mod subject;
mod yaml;

pub use card::{check, is_invisible, malformed, network, results, rules};
pub use finding::{Edit, Finding, Findings, Transcript};
pub use fix::{Fixed, apply_fixes};
pub use junit::junit;
pub use markdown::{escape_markdown, markdown};
pub use outcome::{CheckResult, Outcome, Summary};
pub use rule::{Rule, Severity};
pub use sarif::sarif;
pub use source::positions;
pub use strings::quote;
pub use subject::Subject;
pub use yaml::yaml;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
