//! A store in a PostgreSQL database, shared by many nodes.
//!
//! ```no_run
//! use a2a_kit_store::postgres::{PostgresConfig, PostgresStore};
//!
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! let config = PostgresConfig::default().with_schema("echo");
//! let url = "postgres://a2a@db.example.com/tasks?sslmode=verify-full";
//! let store = PostgresStore::connect_with(url, config).await?;
//! # drop(store);
//! # Ok(())
//! # }
//! ```
//!
//! The address is a libpq URL. Its parameters `sslmode` and `sslrootcert` have the libpq meaning
//! (`sslrootcert=system`, the default, uses the system's certificates), and `schema` names the
//! schema of the tables.

mod address;
mod commit;
mod config;
mod dead_letter;
mod error;
mod health;
mod insert;
mod lease;
mod link;
mod link_error;
mod list;
mod migration;
mod pool;
mod push;
mod row;
mod session;
mod signal;
mod store;
mod sweep;
mod task;
mod usage_cache;
mod writer;

pub use config::PostgresConfig;
pub use error::PostgresError;
pub use store::PostgresStore;
