//! The `a2a` command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    a2a_kit_cli::run(std::env::args_os().collect(), &())
}
