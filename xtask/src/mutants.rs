//! Runs `a2a conformance` on the faultless agent and on every mutant.
//!
//! The mutants are in `tests/mutants`. A mutant is found if a check fails, and named rightly if the
//! requirement that it breaks is among the failed ones, and all others are listed as consequences.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use crate::{Result, process, workspace};

mod report;

/// The number of mutants in the table.
const MUTANTS: usize = 40;

/// The name under which `mutant` serves the faultless agent.
const FAULTLESS: &str = "none";

/// The bearer tokens of two callers, as in `tests/mutants`.
const TOKENS: [&str; 2] = ["token-of-ann", "token-of-ben"];

/// Timeout for an agent to start listening.
const START: Duration = Duration::from_secs(30);

/// Timeout of a run of `a2a conformance`.
const RUN: Duration = Duration::from_secs(120);

/// The arguments of `cargo xtask mutants`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this mutant, or `none` for the faultless agent
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Number of agents checked at the same time [default: number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// A row of `mutant --table`.
#[derive(Debug, Deserialize)]
struct Mutant {
    name: String,
    requirement: String,
    also: BTreeSet<String>,
}

/// The programs and where they log.
struct Bench {
    a2a: PathBuf,
    mutant: PathBuf,
    folder: PathBuf,
}

/// What was reported about an agent.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing failed.
    NotFound,
    /// Other requirements failed than those that the mutant breaks.
    WronglyNamed,
    /// The broken requirement failed, and only consequences of it besides.
    RightlyNamed,
}

pub(crate) fn run(args: &Args) -> Result {
    let start = Instant::now();
    let binaries = workspace::build(&["a2a", "mutant"], false)?;
    let folder = workspace::root().join("target/mutants");
    fs::create_dir_all(&folder)?;
    let bench = Bench { a2a: binaries.join("a2a"), mutant: binaries.join("mutant"), folder };
    let table = workspace::output(Command::new(&bench.mutant).arg("--table"))?;
    let mutants: Vec<Mutant> = serde_json::from_str(&table)?;
    let names: Vec<&str> = [FAULTLESS]
        .into_iter()
        .chain(mutants.iter().map(|mutant| mutant.name.as_str()))
        .filter(|name| args.only.as_ref().is_none_or(|only| only == name))
        .collect();
    if names.is_empty() {
        let only = args.only.as_deref().unwrap_or_default();
        return Err(format!("--only: unknown mutant {only:?}").into());
    }
    let jobs = args.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let (mut found, mut named, mut findings, mut errors) = (0, 0, 0, 0);
    for (name, failed) in check_all(&bench, &names, jobs) {
        let mutant = mutants.iter().find(|mutant| mutant.name == name);
        let failed = match failed {
            Ok(failed) => failed,
            Err(error) => {
                println!("{name}: {error}");
                errors += 1;
                continue;
            }
        };
        let list = list(&failed);
        let Some(mutant) = mutant else {
            findings = failed.len();
            println!("{:36} {:6} failed: {list}", "faultless agent", "-");
            continue;
        };
        let verdict = verdict(mutant, &failed);
        let remark = match verdict {
            Verdict::NotFound => ", NOT FOUND",
            Verdict::WronglyNamed => ", WRONGLY NAMED",
            Verdict::RightlyNamed => "",
        };
        println!("{name:36} {:6} failed: {list}{remark}", mutant.requirement);
        found += usize::from(verdict != Verdict::NotFound);
        named += usize::from(verdict == Verdict::RightlyNamed);
    }
    let total = names.iter().filter(|name| **name != FAULTLESS).count();
    println!("took {:.0} s", start.elapsed().as_secs_f64());
    println!(
        "{total} mutants, {found} found, {named} named rightly, {findings} findings on the faultless agent"
    );
    let is_complete = args.only.is_some() || total == MUTANTS;
    if is_complete && found == total && named == total && findings == 0 && errors == 0 {
        Ok(())
    } else {
        Err("a2a conformance missed a fault or reported a wrong requirement, see above".into())
    }
}

/// Runs the checks on all agents, `jobs` at a time, in the order of `names`.
fn check_all<'a>(
    bench: &Bench,
    names: &[&'a str],
    jobs: usize,
) -> Vec<(&'a str, Result<BTreeSet<String>, String>)> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, names.len()) {
            scope.spawn(|| {
                while let Some((index, name)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    names.get(index).map(|name| (index, *name))
                } {
                    let failed = check(bench, name).map_err(|error| error.to_string());
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.push((index, name, failed));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, ..)| *index);
    results.into_iter().map(|(_, name, failed)| (name, failed)).collect()
}

/// Starts an agent, checks it, and returns the requirements that failed.
fn check(bench: &Bench, name: &str) -> Result<BTreeSet<String>> {
    let log = |suffix: &str| bench.folder.join(format!("{name}{suffix}"));
    let mut mutant = Command::new(&bench.mutant);
    mutant.arg(name);
    let address = |line: &str| line.strip_prefix("listening on ").map(str::to_owned);
    let server = process::Server::start(mutant, &log(".agent.log"), START, address)?;
    let mut conformance = Command::new(&bench.a2a);
    conformance
        .args(["conformance", "-a", &server.address, "--profile", "demo"])
        .args(["--level", "may", "--format", "json"])
        .args(["--bearer", TOKENS[0], "--second-bearer", TOKENS[1]])
        .envs([("HOME", &bench.folder), ("XDG_CONFIG_HOME", &bench.folder)]);
    let output = process::output(conformance, &log(".log"), RUN)?;
    let path = log(".json");
    fs::write(&path, &output.text)?;
    read(&output, &path)
}

fn read(output: &process::Output, path: &Path) -> Result<BTreeSet<String>> {
    let path = workspace::relative(path);
    // 0: nothing failed. 1: something failed.
    if !matches!(output.code, Some(0 | 1)) {
        let code = output.code;
        return Err(format!("a2a conformance ended with {code:?}, see {path}").into());
    }
    let failed = report::failed(&output.text).map_err(|error| format!("{path}: {error}"))?;
    if failed.is_empty() == (output.code == Some(0)) {
        Ok(failed)
    } else {
        Err(format!("a2a conformance ended with {:?}, failed: {}", output.code, list(&failed))
            .into())
    }
}

fn verdict(mutant: &Mutant, failed: &BTreeSet<String>) -> Verdict {
    let is_consequence = |id: &String| *id == mutant.requirement || mutant.also.contains(id);
    if failed.is_empty() {
        Verdict::NotFound
    } else if failed.contains(&mutant.requirement) && failed.iter().all(is_consequence) {
        Verdict::RightlyNamed
    } else {
        Verdict::WronglyNamed
    }
}

fn list(ids: &BTreeSet<String>) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    ids.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids<const N: usize>(ids: [&str; N]) -> BTreeSet<String> {
        ids.map(str::to_owned).into()
    }

    #[test]
    fn mutant_is_named_rightly_by_its_requirement_and_consequences_only() {
        let mutant = Mutant {
            name: "mutant".to_owned(),
            requirement: "R-052".to_owned(),
            also: ids(["R-234"]),
        };
        for (failed, expected) in [
            (ids([]), Verdict::NotFound),
            (ids(["R-052"]), Verdict::RightlyNamed),
            (ids(["R-052", "R-234"]), Verdict::RightlyNamed),
            (ids(["R-234"]), Verdict::WronglyNamed),
            (ids(["R-052", "R-001"]), Verdict::WronglyNamed),
        ] {
            assert_eq!(verdict(&mutant, &failed), expected, "{failed:?}");
        }
    }
}
