//! Fuzzes the parsers of untrusted input, and prints statistics and findings.
//!
//! `tests/fuzz` has the properties that hold for every input, `fuzz` the executables. They are
//! built with the installed toolchain: the coverage pass of LLVM does not require nightly.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{Result, workspace};

/// The instrumentation by which the fuzzer measures coverage.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
/// Timeout for one input, in seconds.
const HANG: u32 = 10;
/// Maximum length of a generated input, in bytes.
const MAX_INPUT: u32 = 16 << 10;

/// The arguments of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Total duration, shared by the targets
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Targets to fuzz instead of all, for example `card,rest`
    #[arg(long, value_delimiter = ',', value_name = "TARGETS")]
    only: Vec<String>,
    /// Targets to fuzz at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Memory limit of a target, in megabytes
    #[arg(long, default_value_t = 512, value_name = "MB")]
    memory: u32,
}

/// The result of a target.
#[derive(Clone, Debug, Default)]
struct Outcome {
    executions: u64,
    coverage: u64,
    peak_mb: u64,
    corpus: usize,
    /// The failure that ended the target.
    finding: Option<Finding>,
}

/// A failure of a target, and the input that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    kind: Kind,
    text: String,
    input: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Crash,
    Hang,
    Memory,
}

pub(crate) fn run(args: &Args) -> Result {
    let targets = chosen(&args.only)?;
    let jobs = args.jobs.clamp(1, targets.len().max(1));
    let rounds = targets.len().div_ceil(jobs);
    let seconds = Duration::try_from_secs_f64(args.minutes * 60.0)
        .map_err(|error| format!("--minutes: {error}"))?
        .as_secs()
        / u64::try_from(rounds)?.max(1);
    if seconds == 0 {
        return Err("--minutes: too short for this many targets".into());
    }
    let folder = workspace::root().join("target/fuzz");
    let binaries = build(&folder)?;
    println!("{} targets, {jobs} at a time, {seconds} s each", targets.len());
    let mut outcomes = Vec::new();
    for batch in targets.chunks(jobs) {
        let running: Vec<_> = batch
            .iter()
            .map(|target| {
                let plan = Plan::new(&folder, &binaries, target, seconds, args.memory);
                (target, thread::spawn(move || plan.and_then(|plan| plan.run().map_err(text))))
            })
            .collect();
        for (target, running) in running {
            let outcome = running.join().map_err(|_panic| "a reader thread panicked")??;
            print(target, &outcome);
            outcomes.push(outcome);
        }
    }
    let count = |kind| {
        let findings = outcomes.iter().filter_map(|outcome| outcome.finding.as_ref());
        findings.filter(|finding| finding.kind == kind).count()
    };
    println!(
        "{} targets, {} executions, {} crashes, {} hangs, {} over {} MB",
        outcomes.len(),
        outcomes.iter().map(|outcome| outcome.executions).sum::<u64>(),
        count(Kind::Crash),
        count(Kind::Hang),
        count(Kind::Memory),
        args.memory,
    );
    if outcomes.iter().any(|outcome| outcome.finding.is_some()) {
        return Err("a target failed; after fixing it, add the input named above to \
            tests/fuzz/regressions/<target>"
            .into());
    }
    Ok(())
}

fn text(error: Box<dyn std::error::Error>) -> String {
    error.to_string()
}

/// All targets, or those in `only`.
fn chosen(only: &[String]) -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in fs::read_dir(workspace::root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        targets.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    for wanted in only {
        if !targets.contains(wanted) {
            return Err(
                format!("--only: unknown target {wanted}, expected one of {targets:?}").into()
            );
        }
    }
    if !only.is_empty() {
        targets.retain(|target| only.contains(target));
    }
    Ok(targets)
}

/// Builds the executables, and returns their directory.
fn build(folder: &Path) -> Result<PathBuf> {
    println!("building; the first time takes minutes");
    let host = host()?;
    // The targets use the same dependency versions as the workspace.
    fs::copy(workspace::root().join("Cargo.lock"), workspace::root().join("fuzz/Cargo.lock"))?;
    let status = workspace::cargo()
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--quiet"])
        .args(["--target", &host, "--target-dir"])
        .arg(folder)
        .env("RUSTFLAGS", FLAGS)
        .status()?;
    if !status.success() {
        return Err("failed to build the targets; they need a C++ compiler".into());
    }
    let seeds = workspace::cargo()
        .args(["run", "--quiet", "-p", "a2a-fuzz", "--bin", "fuzz-seeds"])
        .arg(folder.join("seeds"))
        .status()?;
    if !seeds.success() {
        return Err("failed to write the seeds".into());
    }
    Ok(folder.join(host).join("release"))
}

/// The target triple of the host. With an explicit `--target`, flags do not apply to build scripts.
fn host() -> Result<String> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("-vV").output()?;
    let output = String::from_utf8(output.stdout)?;
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

/// The command of one target.
struct Plan {
    command: Command,
    corpus: PathBuf,
}

impl Plan {
    fn new(
        folder: &Path,
        binaries: &Path,
        target: &str,
        seconds: u64,
        memory: u32,
    ) -> Result<Self, String> {
        let failure = |error: std::io::Error| format!("{target}: {error}");
        let corpus = folder.join("corpus").join(target);
        let seeds = folder.join("seeds").join(target);
        let findings = folder.join("findings").join(target);
        for folder in [&corpus, &findings] {
            fs::create_dir_all(folder).map_err(failure)?;
        }
        let mut command = Command::new(binaries.join(target));
        command
            .arg(&corpus)
            .arg(&seeds)
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={HANG}"))
            .arg(format!("-rss_limit_mb={memory}"))
            .arg(format!("-malloc_limit_mb={memory}"))
            .arg(format!("-max_len={MAX_INPUT}"))
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .arg("-print_final_stats=1")
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Ok(Self { command, corpus })
    }

    fn run(mut self) -> Result<Outcome> {
        let mut child = self.command.spawn()?;
        let mut outcome = Outcome::default();
        let mut output = Vec::new();
        if let Some(lines) = child.stderr.take() {
            for line in BufReader::new(lines).lines() {
                let line = line?;
                outcome.read(&line);
                // The last lines before a failure have its cause.
                output.push(line);
                if output.len() > 400 {
                    output.drain(..200);
                }
            }
        }
        let status = child.wait()?;
        outcome.corpus = fs::read_dir(&self.corpus)?.count();
        if !status.success() {
            outcome.finding = Some(Finding::parse(&output));
        }
        Ok(outcome)
    }
}

impl Outcome {
    /// Parses a line of the fuzzer's output.
    fn read(&mut self, line: &str) {
        let number = |text: &str| text.trim().parse().ok();
        if let Some(text) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = number(text).unwrap_or(self.executions);
        } else if let Some(text) = line.strip_prefix("stat::peak_rss_mb:") {
            self.peak_mb = number(text).unwrap_or(self.peak_mb);
        } else if let Some(rest) = line.split_once(" cov: ").map(|(_, rest)| rest) {
            let first = rest.split_whitespace().next().unwrap_or_default();
            self.coverage = number(first).unwrap_or(self.coverage);
        }
    }
}

impl Finding {
    /// Parses the failure from the last lines of the fuzzer's output.
    fn parse(output: &[String]) -> Self {
        let has = |text: &str| output.iter().any(|line| line.contains(text));
        let kind = if has("libFuzzer: timeout") {
            Kind::Hang
        } else if has("libFuzzer: out-of-memory") {
            Kind::Memory
        } else {
            Kind::Crash
        };
        let panic = output.iter().position(|line| line.contains("panicked at"));
        let text = match panic {
            Some(at) => {
                output[at..].iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            None => output.iter().rfind(|line| line.contains("ERROR")).cloned().unwrap_or_default(),
        };
        let input = output.iter().find_map(|line| line.split_once("Test unit written to "));
        Self { kind, text, input: input.map(|(_, path)| path.trim().into()) }
    }
}

fn print(target: &str, outcome: &Outcome) {
    println!(
        "{target:<12} {:>10} executions, {:>6} edges, {:>5} corpus inputs, {:>4} MB peak{}",
        outcome.executions,
        outcome.coverage,
        outcome.corpus,
        outcome.peak_mb,
        if outcome.finding.is_some() { ", FAILED" } else { "" },
    );
    if let Some(finding) = &outcome.finding {
        println!("  {:?}: {}", finding.kind, finding.text);
        if let Some(input) = &finding.input {
            println!("  input: {}", input.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzzer_output_is_parsed() {
        let mut outcome = Outcome::default();
        outcome
            .read("#262144\tpulse  cov: 1201 ft: 3402 corp: 120/4Kb lim: 128 exec/s: 1 rss: 77Mb");
        outcome.read("stat::number_of_executed_units: 300000");
        outcome.read("stat::peak_rss_mb:              88");
        assert_eq!((outcome.coverage, outcome.executions, outcome.peak_mb), (1201, 300_000, 88));
    }

    #[test]
    fn a_finding_has_its_kind_and_input() {
        for (output, kind, input) in [
            ("==1== ERROR: libFuzzer: timeout after 10 seconds", Kind::Hang, None),
            (
                "==1== ERROR: libFuzzer: out-of-memory (used: 600Mb; limit: 512Mb)",
                Kind::Memory,
                None,
            ),
            (
                "artifact_prefix='x/'; Test unit written to x/crash-1",
                Kind::Crash,
                Some("x/crash-1"),
            ),
        ] {
            let finding = Finding::parse(&[output.to_owned()]);
            assert_eq!((finding.kind, finding.input), (kind, input.map(PathBuf::from)), "{output}");
        }
    }
}
