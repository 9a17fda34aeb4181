//! A store in a SQLite file, for one process.
//!
//! All writes go through one thread, which groups them into transactions and responds after they
//! are on disk. Reads use separate connections. The file belongs to the process that has it open; a
//! second one is rejected.

mod connection;
mod dead_letter;
mod failure;
mod idempotency_key;
mod lease;
mod lock;
mod migration;
mod open;
mod open_error;
mod page;
mod push;
mod read;
mod reader;
mod store;
mod sweep;
mod task;
mod transaction;
mod write;
mod writer;

pub use open::SqliteOptions;
pub use open_error::OpenError;
pub use store::SqliteStore;
