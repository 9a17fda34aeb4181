//! Serves the honest minimum with mimalloc, as `a2a` does.

use std::process::ExitCode;

// It replaces `malloc` itself.
use mimalloc as _;

fn main() -> ExitCode {
    a2a_bench::serve_minimum()
}
