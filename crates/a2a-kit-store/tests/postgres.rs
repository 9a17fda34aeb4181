//! The PostgreSQL store: the laws of stores, reconnection, and query plans.

#![cfg(feature = "postgres")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

#[path = "postgres/failover.rs"]
mod failover;
#[path = "postgres/fixtures.rs"]
mod fixtures;
#[path = "postgres/laws.rs"]
mod laws;
#[path = "postgres/nodes.rs"]
mod nodes;
#[path = "postgres/open.rs"]
mod open;
#[path = "postgres/plan.rs"]
mod plan;
#[path = "postgres/reconnect.rs"]
mod reconnect;
#[path = "postgres/tls.rs"]
mod tls;
#[path = "postgres/volume.rs"]
mod volume;
