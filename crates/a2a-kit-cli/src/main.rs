//! The `a2a` command.

use std::process::ExitCode;

// On Linux, mimalloc replaces `malloc`, which is faster than its functions for aligned memory.
#[cfg(target_os = "linux")]
use mimalloc as _;

#[cfg(not(target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    a2a_kit_cli::run(std::env::args_os().collect(), &())
}
