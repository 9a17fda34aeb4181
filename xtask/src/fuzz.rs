//! Feeds every target that reads what peers send with what a fuzzer makes up, and prints what
//! was tried and what broke.
//!
//! What is promised for every input is in `tests/fuzz`; the executables are in `fuzz`. They are
//! built with the toolchain that is there: coverage is counted by a pass of the code generator,
//! which needs no other.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{Result, workspace};

/// What the code generator adds, so that the fuzzer sees where an input leads.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
/// The longest that one input may take, in seconds.
const HANG: u32 = 10;
/// The longest input that is made up, in bytes.
const MAX_INPUT: u32 = 16 << 10;

/// What `cargo xtask fuzz` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long to fuzz in all; the targets share it
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Targets to fuzz instead of all, for example `card,rest`
    #[arg(long, value_delimiter = ',', value_name = "TARGETS")]
    only: Vec<String>,
    /// Targets that are fuzzed at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// The most memory that a target may take, in megabytes
    #[arg(long, default_value_t = 512, value_name = "MB")]
    memory: u32,
}

/// What became of a target.
#[derive(Clone, Debug, Default)]
struct Outcome {
    executions: u64,
    coverage: u64,
    peak_mb: u64,
    corpus: usize,
    /// What the fuzzer says of the input that broke the target.
    finding: Option<Finding>,
}

/// How a target broke, and by which input.
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
            let outcome = running.join().map_err(|_panic| "a thread that reads has panicked")??;
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
        return Err("a target broke; its input is named above, and belongs into \
            tests/fuzz/regressions/<target> when it is mended"
            .into());
    }
    Ok(())
}

fn text(error: Box<dyn std::error::Error>) -> String {
    error.to_string()
}

/// The targets that there are, or those of them that were asked for.
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
                format!("--only: there is no target {wanted}; there are {targets:?}").into()
            );
        }
    }
    if !only.is_empty() {
        targets.retain(|target| only.contains(target));
    }
    Ok(targets)
}

/// Builds the executables, and returns the folder that they are in.
fn build(folder: &Path) -> Result<PathBuf> {
    println!("building; the first time takes minutes");
    let host = host()?;
    // What is fuzzed stands on the versions that the workspace stands on.
    fs::copy(workspace::root().join("Cargo.lock"), workspace::root().join("fuzz/Cargo.lock"))?;
    let status = workspace::cargo()
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--quiet"])
        .args(["--target", &host, "--target-dir"])
        .arg(folder)
        .env("RUSTFLAGS", FLAGS)
        .status()?;
    if !status.success() {
        return Err("the targets don't build; they need a C++ compiler beside Rust".into());
    }
    let seeds = workspace::cargo()
        .args(["run", "--quiet", "-p", "a2a-fuzz", "--bin", "fuzz-seeds"])
        .arg(folder.join("seeds"))
        .status()?;
    if !seeds.success() {
        return Err("the seeds can't be written".into());
    }
    Ok(folder.join(host).join("release"))
}

/// The platform of this machine, as the compiler calls it: flags that are meant for a named
/// platform stay away from build scripts.
fn host() -> Result<String> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(compiler).arg("-vV").output()?;
    let said = String::from_utf8(said.stdout)?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("the compiler does not name its host")?.to_owned())
}

/// How one target is run.
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
        let mut said = Vec::new();
        if let Some(lines) = child.stderr.take() {
            for line in BufReader::new(lines).lines() {
                let line = line?;
                outcome.read(&line);
                // What is said before an end that nobody wanted says why.
                said.push(line);
                if said.len() > 400 {
                    said.drain(..200);
                }
            }
        }
        let status = child.wait()?;
        outcome.corpus = fs::read_dir(&self.corpus)?.count();
        if !status.success() {
            outcome.finding = Some(Finding::of(&said));
        }
        Ok(outcome)
    }
}

impl Outcome {
    /// Reads a line of the fuzzer's.
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
    /// Finds what broke in the last lines of the fuzzer.
    fn of(said: &[String]) -> Self {
        let has = |text: &str| said.iter().any(|line| line.contains(text));
        let kind = if has("libFuzzer: timeout") {
            Kind::Hang
        } else if has("libFuzzer: out-of-memory") {
            Kind::Memory
        } else {
            Kind::Crash
        };
        let panic = said.iter().position(|line| line.contains("panicked at"));
        let text = match panic {
            Some(at) => said[at..].iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" "),
            None => said.iter().rfind(|line| line.contains("ERROR")).cloned().unwrap_or_default(),
        };
        let input = said.iter().find_map(|line| line.split_once("Test unit written to "));
        Self { kind, text, input: input.map(|(_, path)| path.trim().into()) }
    }
}

fn print(target: &str, outcome: &Outcome) {
    println!(
        "{target:<12} {:>10} executions, {:>6} edges, {:>5} inputs kept, {:>4} MB at most{}",
        outcome.executions,
        outcome.coverage,
        outcome.corpus,
        outcome.peak_mb,
        if outcome.finding.is_some() { ", BROKEN" } else { "" },
    );
    if let Some(finding) = &outcome.finding {
        println!("  {:?}: {}", finding.kind, finding.text);
        if let Some(input) = &finding.input {
            println!("  by {}", input.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fuzzer_says_is_read() {
        let mut outcome = Outcome::default();
        outcome
            .read("#262144\tpulse  cov: 1201 ft: 3402 corp: 120/4Kb lim: 128 exec/s: 1 rss: 77Mb");
        outcome.read("stat::number_of_executed_units: 300000");
        outcome.read("stat::peak_rss_mb:              88");
        assert_eq!((outcome.coverage, outcome.executions, outcome.peak_mb), (1201, 300_000, 88));
    }

    #[test]
    fn a_broken_target_is_told_by_its_kind_and_its_input() {
        for (said, kind, input) in [
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
            let finding = Finding::of(&[said.to_owned()]);
            assert_eq!((finding.kind, finding.input), (kind, input.map(PathBuf::from)), "{said}");
        }
    }
}
