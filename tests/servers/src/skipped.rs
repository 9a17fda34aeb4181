use std::{
    io::{Write as _, stderr},
    thread,
};

/// A server is unavailable, so tests that need it are skipped.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no {server}: {reason}")]
pub struct Skipped {
    server: &'static str,
    reason: String,
}

impl Skipped {
    pub(crate) fn new(server: &'static str, reason: impl Into<String>) -> Self {
        Self { server, reason: reason.into() }
    }

    /// Prints to standard error directly, since the harness captures `eprintln` of passing tests.
    pub(crate) fn say(&self) {
        let thread = thread::current();
        let test = thread.name().unwrap_or("a test");
        let _ = writeln!(stderr(), "SKIPPED {test}: {self}");
    }
}
