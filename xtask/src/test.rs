//! Runs every test and prints the totals in one line.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use a2a_test_servers::Servers;

use crate::{Result, workspace};

/// Output timeout after which the tests are killed.
const MAX_SILENCE: Duration = Duration::from_secs(600);

/// The arguments of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the line of every test, not only of failed ones
    #[arg(long)]
    verbose: bool,
    /// Arguments for `cargo test`, for example `-- -p a2a-core` or `-- stream`
    #[arg(last = true)]
    cargo: Vec<String>,
}

/// The sum over all test binaries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let start = Instant::now();
    // The tests of one package locate servers themselves, and most need none.
    let servers = (!is_one_package(args)).then(Servers::find);
    if let Some(servers) = &servers {
        println!("servers: {servers}");
    }
    match total(args, servers.as_ref()) {
        Ok(total) => {
            if let Some(servers) = &servers {
                println!("servers: {servers}");
            }
            println!("tests took {:.0} s", start.elapsed().as_secs_f64());
            println!("{} passed, {} failed", total.passed, total.failed);
            if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_one_package(args: &Args) -> bool {
    args.cargo.iter().any(|arg| arg == "-p" || arg.starts_with("--package"))
}

fn total(args: &Args, servers: Option<&Servers>) -> Result<Total> {
    let mut command = workspace::cargo();
    command.args(["test", "--no-fail-fast"]);
    if let Some(servers) = servers {
        command.arg("--workspace").envs(servers.environment());
    }
    command.args(&args.cargo);
    count(&mut command, args.verbose)
}

/// Runs `cargo test` and adds up the results; prints failures, or with `is_verbose` every test.
pub(crate) fn count(command: &mut Command, is_verbose: bool) -> Result<Total> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().ok_or("cargo has no standard output")?;
    let (sender, lines) = mpsc::sync_channel(64);
    thread::spawn(move || {
        let mut lines = BufReader::new(output).split(b'\n');
        lines.try_for_each(|line| sender.send(line).map_err(drop))
    });
    let mut total = Total::default();
    let mut max_silence = None;
    loop {
        let line = match max_silence {
            // The build prints nothing here, and has no timeout.
            None => lines.recv().map_err(RecvTimeoutError::from),
            Some(silence) => lines.recv_timeout(silence),
        };
        let line = match line {
            Ok(line) => line?,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                kill(&mut child);
                let minutes = MAX_SILENCE.as_secs() / 60;
                return Err(format!("a test hangs: no output for {minutes} minutes").into());
            }
        };
        let line = String::from_utf8_lossy(&line);
        max_silence = Some(MAX_SILENCE);
        total.add(&line);
        if is_verbose || !is_noise(&line) {
            println!("{line}");
        }
    }
    let status = child.wait()?;
    if !status.success() && total.failed == 0 {
        // A binary that failed to build, or crashed, has no result line to count.
        eprintln!(
            "error: cargo test ended with {status}, but no result line reports a failed test"
        );
        total.failed = 1;
    }
    Ok(total)
}

/// Kills cargo and its test binary.
fn kill(cargo: &mut Child) {
    // The binary first: without cargo, its parent would be unknown.
    let _ = Command::new("pkill").args(["-P", &cargo.id().to_string()]).status();
    let _ = cargo.kill();
    let _ = cargo.wait();
}

impl Total {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 0 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        let words: Vec<&str> = result.split_whitespace().collect();
        for pair in words.windows(2) {
            let [number, what] = pair else { continue };
            let number = number.parse().unwrap_or(0);
            match *what {
                "passed;" => self.passed += number,
                "failed;" => self.failed += number,
                _ => {}
            }
        }
    }
}

/// Whether the line only reports success.
fn is_noise(line: &str) -> bool {
    let passed = line.starts_with("test ") && line.ends_with(" ... ok");
    let nothing = line.starts_with("running ")
        || line.starts_with("all doctests ran in ")
        || line.starts_with("test result: ok. 0 passed; 0 failed;");
    passed || nothing || line.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_are_added_up() {
        let mut total = Total::default();
        for line in [
            "running 2 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s",
            "test a_test ... ok",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            total.add(line);
        }
        assert_eq!(total, Total { passed: 15, failed: 2 });
    }

    #[test]
    fn a_failure_is_never_noise() {
        assert!(is_noise("test stream::tests::a_stream_ends ... ok"));
        assert!(!is_noise("test stream::tests::a_stream_ends ... FAILED"));
        assert!(!is_noise("test result: FAILED. 0 passed; 1 failed; 0 ignored"));
        assert!(!is_noise("thread 'main' panicked at src/lib.rs:1:1:"));
    }
}
