//! Counts the instructions of operations of the SQLite store: `cargo xtask bench micro`.
//!
//! SQLite uses separate threads, which callgrind counts entirely or not at all. So a whole process
//! is counted, with one that only opens and closes the file for comparison.

#![allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "the macros of gungraun make such code"
)]

use a2a_micro::store;
use gungraun::{Callgrind, Command, Sandbox, main, prelude::*};

#[binary_benchmark(setup = store::prepare_file())]
#[bench::open("open")]
#[bench::insert("insert")]
#[bench::commit("commit")]
#[bench::get("get")]
#[bench::list("list")]
fn process(operation: &str) -> Command {
    Command::new(env!("CARGO_BIN_EXE_a2a-micro-sqlite")).arg(operation).build()
}

binary_benchmark_group!(name = sqlite, benchmarks = [process]);

main!(
    config = BinaryBenchmarkConfig::default()
        .sandbox(Sandbox::new(true))
        .tool(Callgrind::with_args(["--cache-sim=no"])),
    binary_benchmark_groups = sqlite
);
