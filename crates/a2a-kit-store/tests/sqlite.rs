//! The SQLite store: durability across crashes and restarts.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod sqlite {
    mod crash;
    mod disk;
    mod engine;
    mod file;
    mod group;
    mod laws;
    mod restart;
    mod secret;
    mod unwritable;
}
