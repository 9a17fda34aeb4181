//! `a2a-test-agent`: the command `a2a` with the agents that conformance suites and measurements
//! call, which are no part of the product.
//!
//! `serve` takes two flags more. `--profile` is `demo`, the agent of `a2a serve` that also knows the
//! names of suites; `conformance`, which knows only these; `bench`, which does the least work around
//! the library, without log, metrics and a file; or `bench-defaults`, the same agent with the defaults
//! of `a2a serve`. `--default complete` makes the agent of `conformance` echo messages that no name
//! selects, and complete the task. Suites switch it by variables that they set to 1:
//! `ITK_ACTS_REDUCED_CAPABILITIES` and `ITK_ACTS_AUTH`.

mod bench_agent;
mod command_line;
mod parse_response;
mod suite;

use std::{env, process::ExitCode};

use suite::Suite;

// On Linux, mimalloc replaces `malloc`, which is faster than its functions for aligned memory.
#[cfg(target_os = "linux")]
use mimalloc as _;

#[cfg(not(target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let is_switched = |name: &str| env::var(name).is_ok_and(|value| value == "1");
    match Suite::read(env::args_os().collect(), is_switched) {
        Ok((suite, arguments)) => a2a_kit_cli::run(arguments, &suite),
        Err(problem) => {
            #[expect(clippy::print_stderr, reason = "the command is not running yet")]
            {
                eprintln!("Error: {problem}");
            }
            ExitCode::from(2)
        }
    }
}
