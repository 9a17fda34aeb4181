//! Stores that keep the tasks of an A2A agent through crashes and on many machines.
//!
//! Each is a [`Store`](a2a_operations::Store) to hand to an
//! [`Engine`](a2a_operations::Engine):
//!
//! - feature `sqlite` (default): a file that one process owns;
//! - feature `postgres`: a database that many nodes share;
//! - feature `nats`: nodes that hear of each other through NATS JetStream.

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "nats"))]
#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "between nodes only events travel")
)]
mod codec;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres", feature = "nats")),
    expect(dead_code, reason = "without a store nothing is sealed")
)]
mod seal;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use seal::{SecretKey, SecretKeyError, SecretKeys};
