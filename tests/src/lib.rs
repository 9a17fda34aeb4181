//! The behaviour suite of agents, run in every topology.
//!
//! A behaviour is a function of a [`Topology`], which creates the agent; the behaviour calls it as
//! `Arc<dyn Agent>`. `tests/behaviour.rs` runs each behaviour in each topology.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests panic on unexpected results"
)]
#![allow(missing_docs, reason = "the names of behaviours are their documentation")]

pub mod agent;
pub mod attack;
pub mod backend;
pub mod behaviour;
pub mod call;
pub mod chaos;
pub mod collector;
pub mod isolation;
pub mod models;
pub mod odd_agent;
mod revision_suite;
pub mod topology;
pub mod webhook;

pub use agent::{Control, Options};
pub use topology::{Fixture, Topology};

/// Compiles the examples of the guide to clients, which is not part of a package.
#[cfg(doctest)]
#[doc = include_str!("../../docs/client.md")]
struct ClientGuide;

/// Generates a test for each behaviour in a module for the topology.
#[macro_export]
macro_rules! in_topology {
    ($name:ident $topology:ident: $($module:ident::$behaviour:ident,)*) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $behaviour() {
                    let behaviour = $crate::behaviour::$module::$behaviour;
                    $crate::topology::run(behaviour, $crate::Topology::$topology).await;
                }
            )*
        }
    };
}
