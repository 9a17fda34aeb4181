//! A store in a PostgreSQL database that many nodes share.
//!
//! ```no_run
//! use a2a_store::postgres::{PostgresConfig, PostgresStore};
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
//! The address is a URL as libpq takes it. Of its parameters `sslmode` and `sslrootcert` mean
//! what they mean there (`sslrootcert=system`, the default, is the certificates of the machine),
//! and `schema` names the schema that the tables are in.

mod address;
mod claim;
mod command;
mod commit;
mod config;
mod dead_letter;
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
mod usage;
mod webhook;
mod writer;

pub use config::PostgresConfig;
pub use error::PostgresError;
pub use store::PostgresStore;
