//! A store in a SQLite file, for one process.
//!
//! All writes go through one thread, which makes one transaction of those that wait, and answers
//! after it is on the disk. Reads go beside it. The file belongs to the process that has it
//! open: a second one is refused.

mod claim;
mod connection;
mod dead_letter;
mod failure;
mod lease;
mod lock;
mod open;
mod page;
mod push;
mod read;
mod reader;
mod store;
mod sweep;
mod write;
mod writer;

pub use open::{OpenError, SqliteOptions};
pub use store::SqliteStore;
