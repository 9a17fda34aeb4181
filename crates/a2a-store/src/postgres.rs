//! A store in a PostgreSQL database that many nodes share.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use a2a_core::AgentCard;
//! use a2a_operations::{Engine, agent_fn};
//! use a2a_store::postgres::PostgresStore;
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let store = PostgresStore::connect("postgres://a2a@db.example.com/tasks").await?;
//! let card = AgentCard::new("Echo", "Says what it hears");
//! let echo = agent_fn(async |text: String| format!("You said: {text}"));
//! # let _ = (store, card, echo);
//! # Ok(())
//! # }
//! ```
//!
//! The address is a URL as libpq takes it. Of its parameters `sslmode` and `sslrootcert` mean
//! what they mean there (`sslrootcert=system`, the default, is the certificates of the machine),
//! and `schema` names the schema that the tables are in.

mod address;
mod claim;
mod command;
mod commit;
mod config;
mod error;
mod insert;
mod lease;
mod link;
mod list;
mod migration;
mod outbox;
mod pool;
mod read;
mod row;
mod signal;
mod store;
mod sweep;
mod tls;
mod webhook;
mod writer;

pub use config::PostgresConfig;
pub use error::PostgresError;
pub use store::PostgresStore;
