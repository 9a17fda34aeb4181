use std::{
    io::{Write as _, stderr},
    thread,
};

/// A server is not to be had, so what needs it is not tested.
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

    /// Says so where a passing test is heard too: what `eprintln` prints is captured.
    pub(crate) fn say(&self) {
        let thread = thread::current();
        let test = thread.name().unwrap_or("a test");
        let _ = writeln!(stderr(), "SKIPPED {test}: {self}");
    }
}
