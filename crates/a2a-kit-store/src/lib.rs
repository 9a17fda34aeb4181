//! Durable stores for the tasks of an A2A agent.
//!
//! Each is a [`Store`](a2a_kit_operations::Store) for an [`Engine`](a2a_kit_operations::Engine):
//!
#![cfg_attr(feature = "sqlite", doc = "```no_run")]
#![cfg_attr(not(feature = "sqlite"), doc = "```ignore")]
//! use a2a_core::AgentCard;
//! use a2a_kit_operations::{Engine, agent_fn};
//! use a2a_kit_store::sqlite::SqliteStore;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = SqliteStore::open("tasks.db").await?;
//! let card = AgentCard::new("Echo", "Repeats its input");
//! let engine = Engine::builder(card, agent_fn(async |text: String| text)).store(store).build();
//! # let _ = engine;
//! # Ok(())
//! # }
//! ```
//!
//! - feature `sqlite` (default): a file for one process;
//! - feature `postgres`: a database shared by many nodes;
//! - feature `nats`: signals between nodes through NATS JetStream.

#![cfg_attr(docsrs, feature(doc_cfg))]

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
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod writability;

pub use seal::{SecretKey, SecretKeys};

/// The result of a method of a store.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "nats"))]
type Result<T, E = a2a_kit_operations::store::StoreError> = std::result::Result<T, E>;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
