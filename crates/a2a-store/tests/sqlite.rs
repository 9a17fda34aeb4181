//! The store in a SQLite file keeps its promises, also when its process ends in any way.
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
}
