//! Counts the instructions of small operations, and compares them with the baseline.

mod baseline;

use std::{
    collections::BTreeMap,
    env, fs, io,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{Result, workspace};
use baseline::{Baseline, Toolchain};

/// The version of gungraun-runner to install, that of gungraun.
const GUNGRAUN_RUNNER: &str = "0.20.0";

/// The checked-in counts.
const BASELINE: &str = "tests/micro/baseline.toml";

/// The arguments of `cargo xtask bench micro`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the counts to the baseline instead of comparing them
    #[arg(long)]
    bless: bool,
    /// Run only benchmarks whose name contains this text, such as codec or sqlite
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Skip the benchmarks if valgrind is not installed
    #[arg(long)]
    if_installed: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.if_installed && !has_valgrind()? {
        println!("SKIPPED: valgrind is not installed");
        return Ok(());
    }
    require_valgrind()?;
    install_runner()?;
    let counts = counts(args.only.as_deref())?;
    let now = Baseline { toolchain: toolchain()?, counts };
    let path = workspace::root().join(BASELINE);
    let baseline = match fs::read_to_string(&path) {
        Ok(text) => text.parse().map_err(|error| format!("{BASELINE}: {error}"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Baseline::default(),
        Err(error) => return Err(format!("{BASELINE}: {error}").into()),
    };
    let is_wanted = |name: &str| args.only.as_ref().is_none_or(|only| name.contains(only));
    let comparison = baseline.compare(&now, is_wanted);
    print!("{comparison}");
    if args.bless {
        fs::write(&path, baseline.blessed(now, is_wanted)?.to_string())?;
        println!("wrote {BASELINE}");
        return Ok(());
    }
    Ok(comparison.verdict()?)
}

/// Fails with what to do if valgrind is not installed.
pub(super) fn require_valgrind() -> Result {
    if has_valgrind()? {
        return Ok(());
    }
    let install = "install it, for example with \"apt-get install valgrind\"";
    Err(format!("valgrind is not installed: {install}").into())
}

fn has_valgrind() -> Result<bool> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) => Ok(output.status.success()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(format!("failed to run valgrind: {error}").into()),
    }
}

/// Installs gungraun-runner if it is missing or of another version.
fn install_runner() -> Result {
    let found = Command::new("gungraun-runner").arg("--version").output();
    let expected = format!("gungraun-runner {GUNGRAUN_RUNNER}");
    if found.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == expected) {
        return Ok(());
    }
    println!("=== installing {expected} with cargo install");
    // It only starts valgrind and reads its counts: an optimized build, which takes twice as long,
    // would not pay off.
    let install = ["install", "--locked", "--debug", "gungraun-runner"];
    let status = workspace::cargo().args(install).args(["--version", GUNGRAUN_RUNNER]).status()?;
    if status.success() { Ok(()) } else { Err(format!("failed to install {expected}").into()) }
}

/// Runs the benchmarks, and returns the instructions of each.
fn counts(only: Option<&str>) -> Result<BTreeMap<String, u64>> {
    let mut command = workspace::cargo();
    command.args(["bench", "-p", "a2a-micro", "--profile", "micro", "--"]);
    command.arg("--output-format=json");
    if let Some(only) = only {
        command.arg(format!("*{only}*"));
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the benchmarks failed with {}", output.status).into());
    }
    let output = String::from_utf8(output.stdout)?;
    let summaries = output.lines().filter(|line| line.starts_with('{'));
    summaries.map(count).collect()
}

/// Parses the name and the instructions of a benchmark from gungraun's summary.
fn count(summary: &str) -> Result<(String, u64)> {
    let summary: Value = serde_json::from_str(summary)?;
    let (path, id) = (summary["module_path"].as_str(), summary["id"].as_str());
    // The first segment is the file of the benchmark.
    let name = path.and_then(|path| path.split_once("::")).zip(id);
    let name = name.map(|((_file, path), id)| format!("{path}::{id}"));
    let instructions = &summary["profiles"][0]["data"]["total"]["metrics"]["Ir"]["values"]["new"];
    let count = name.zip(instructions.as_u64());
    count.ok_or_else(|| {
        format!("unexpected summary of gungraun {GUNGRAUN_RUNNER}: {summary}").into()
    })
}

fn toolchain() -> Result<Toolchain> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").current_dir(workspace::root()).output()?;
    let output = String::from_utf8(output.stdout)?;
    let field = |name| output.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let (rustc, target) =
        field("release: ").zip(field("host: ")).ok_or("rustc -vV has no version")?;
    // The C library provides the allocator and memory copies.
    let libc = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let libc = libc.ok().filter(|output| output.status.success());
    let libc = libc.map_or_else(|| b"unknown".to_vec(), |output| output.stdout);
    let libc = String::from_utf8(libc)?.trim().to_owned();
    Ok(Toolchain { rustc, target, libc, cpu: cpu() })
}

/// The processor features by which the C library selects its functions.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let chosen_by = ["avx2", "avx512f", "avx512vl", "bmi2", "erms", "fsrm", "rtm"];
    let has = |feature: &&str| flags.split_whitespace().any(|flag| flag == *feature);
    chosen_by.into_iter().filter(has).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_has_the_version_of_gungraun() {
        let manifest = workspace::read(&workspace::root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("gungraun = \"={GUNGRAUN_RUNNER}\"")));
    }

    #[test]
    fn name_and_count_are_parsed_from_a_summary() {
        let summary = r#"{
            "module_path": "micro::codec::decode_json", "id": "request", "profiles": [
                {"data": {"total": {"metrics": {"Ir": {"values": {"new": 7, "old": 8}}}}}}
            ]
        }"#;
        assert_eq!(count(summary).unwrap(), ("codec::decode_json::request".to_owned(), 7));
        assert!(count("{}").is_err());
    }
}
