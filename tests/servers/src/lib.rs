//! A real PostgreSQL, a real NATS server and a real nginx for tests.
//!
//! [`postgres`] and [`nats`] give the server that all tests of this process share: the one that
//! `DATABASE_URL` or `NATS_URL` names, one that listens on the standard local port, or one that
//! is started here from installed programs, which root gets from `apt-get`. Where there is none
//! they return [`Skipped`], after a line on standard error. [`Private`] is a server that one
//! test may kill, [`Replication`] a PostgreSQL that fails over, and [`Nginx`] a reverse proxy with
//! the configuration of one test.
//!
//! ```no_run
//! # async fn row_outlives_its_writer() {
//! let Ok(postgres) = a2a_test_servers::postgres().await else { return };
//! let url = postgres.database().await;
//! # }
//! ```
//!
//! A server started here ends with its parent process, even if that is killed: a small shell
//! between the two detects it. `cargo xtask test` locates the servers once for all test binaries,
//! and prints them.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test without an expected server fails"
)]

mod nats;
mod nginx;
mod postgres;
mod private;
mod process;
mod program;
mod replication;
mod servers;
mod skipped;

pub use nats::{Nats, nats};
pub use nginx::Nginx;
pub use postgres::{Postgres, postgres};
pub use private::Private;
pub use replication::Replication;
pub use servers::Servers;
pub use skipped::Skipped;
