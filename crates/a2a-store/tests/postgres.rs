//! The store in PostgreSQL keeps the laws of stores, heals, and reads through its indexes.

#![cfg(feature = "postgres")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

#[path = "support/chain.rs"]
mod chain;
#[path = "postgres/healing.rs"]
mod healing;
#[path = "postgres/laws.rs"]
mod laws;
#[path = "postgres/nodes.rs"]
mod nodes;
#[path = "postgres/opening.rs"]
mod opening;
#[path = "postgres/plan.rs"]
mod plan;
#[path = "postgres/scenery.rs"]
mod scenery;
#[path = "postgres/tls.rs"]
mod tls;
#[path = "postgres/volume.rs"]
mod volume;
