//! The conformance suite for implementations of [`Store`](a2a_kit_operations::Store).
//!
//! A suite is a set of async functions, each of which gets an empty store and panics if a law is
//! violated, and a macro that generates a test for each: [`store_suite!`] for every store,
//! [`cluster_suite!`] for stores that nodes share. [`MemoryNode`] is such a store, in memory, for
//! tests of what runs on several nodes.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod cluster;
mod node;
pub mod store;

pub use node::MemoryNode;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
