//! `cargo xtask bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    a2a_bench::main()
}
