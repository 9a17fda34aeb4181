//! Measures a clean build, and the executable that it leaves.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::table::Profile;
use crate::{Result, workspace};

/// Starts of which the fastest counts.
const STARTS: usize = 10;

/// Builds `a2a` into an empty directory, and measures the CPU time.
pub(super) fn from_nothing(profile: &mut Profile) -> Result {
    let target = target();
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let before = cpu_of_children()?;
    let mut build = workspace::cargo();
    build.args(["build", "--locked", "--quiet", "--timings", "--package", "a2a-kit-cli"]);
    build.args(["--profile", &profile.name]).arg("--target-dir").arg(&target);
    // The figure is that of a first build.
    build.env("CARGO_INCREMENTAL", "0");
    if !build.status()?.success() {
        return Err(format!("failed to build a2a with the profile {}", profile.name).into());
    }
    let seconds = (cpu_of_children()? - before).as_secs();
    println!(
        "{:<28} {seconds:>4} s of CPU time, {} in the table{}",
        profile.name,
        profile.cpu_seconds,
        verdict(profile, seconds)
    );
    println!("{:<28} time per crate: {}/cargo-timings", "", workspace::relative(&target));
    profile.cpu_seconds = seconds;
    Ok(())
}

/// How a CPU time compares with the limit and the goal.
fn verdict(profile: &Profile, seconds: u64) -> String {
    let bounds = [("limit", profile.limit_seconds), ("goal", profile.goal_seconds)];
    let compared = bounds.into_iter().filter_map(|(name, bound)| {
        let bound = bound?;
        let verdict = if seconds <= bound { "met" } else { "MISSED" };
        Some(format!(", {name} {bound}: {verdict}"))
    });
    compared.collect()
}

/// The profiles as rows of Markdown. What this run did not measure is as in the checked-in table.
pub(super) fn rows(profiles: &[Profile]) -> String {
    let mut rows =
        "| Profile | CPU time of a clean build | Executable |\n|---|---|---|\n".to_owned();
    for profile in profiles {
        let (name, seconds) = (&profile.name, profile.cpu_seconds);
        let verdict = verdict(profile, seconds);
        let megabytes = profile.size_kb / 1024;
        rows.push_str(&format!("| `{name}` | {seconds} s{verdict} | {megabytes} MB |\n"));
    }
    rows
}

/// Measures the executable, if it has been built.
pub(super) fn measure(profile: &mut Profile) -> Result {
    let built = [target(), workspace::root().join("target")]
        .map(|target| target.join(&profile.name).join("a2a"));
    let Some(program) = built.into_iter().find(|program| program.exists()) else {
        println!("{:<28} not built", profile.name);
        return Ok(());
    };
    let size = program.metadata()?.len() / 1024;
    println!("{:<28} {size} kB, {} in the table", profile.name, profile.size_kb);
    profile.size_kb = size;
    let mut best: Option<(Duration, u64)> = None;
    for _ in 0..STARTS {
        let start = start(&program)?;
        best = Some(best.map_or(start, |best| best.min(start)));
    }
    if let Some((time, resident)) = best {
        let milliseconds = (time.as_secs_f64() * 10_000.0).round() / 10.0;
        println!(
            "{:<28} listens after {milliseconds} ms with {resident} kB, {} ms and {} kB in the table",
            "", profile.start_ms, profile.resident_kb
        );
        (profile.start_ms, profile.resident_kb) = (milliseconds, resident);
    }
    Ok(())
}

/// Starts the server, and returns the time until it listens and its resident set then, in kB.
fn start(program: &PathBuf) -> Result<(Duration, u64)> {
    let begun = Instant::now();
    let mut server = Command::new(program)
        .args(["serve", "--port", "0", "--store", "memory"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = server.stdout.take().ok_or("no output")?;
    let listening = BufReader::new(output).lines().map_while(|line| line.ok());
    let listens = listening.into_iter().any(|line| line.starts_with("Listening"));
    let time = begun.elapsed();
    let status = fs::read_to_string(format!("/proc/{}/status", server.id()));
    server.kill()?;
    server.wait()?;
    if !listens {
        return Err("a2a serve did not start".into());
    }
    let resident = status?
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().trim_end_matches(" kB").parse().ok());
    Ok((time, resident.ok_or("no resident set in /proc")?))
}

/// User and system time of the processes that this one waited for (Linux).
fn cpu_of_children() -> Result<Duration> {
    /// Clock ticks per second in /proc, on every Linux architecture.
    const TICKS: u64 = 100;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name of the program may contain spaces; it is in parentheses.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let times: Vec<u64> = fields.skip(13).take(2).filter_map(|time| time.parse().ok()).collect();
    let [user, system] = times[..] else { return Err("/proc/self/stat has another form".into()) };
    Ok(Duration::from_millis((user + system) * 1_000 / TICKS))
}

fn target() -> PathBuf {
    workspace::root().join("target/weight")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_above_its_goal_and_within_its_limit_is_shown_as_both() {
        let release = Profile {
            name: "release".to_owned(),
            cpu_seconds: 650,
            limit_seconds: Some(720),
            goal_seconds: Some(600),
            size_kb: 40 * 1024,
            start_ms: 6.0,
            resident_kb: 20_000,
        };
        assert_eq!(verdict(&release, 721), ", limit 720: MISSED, goal 600: MISSED");
        assert_eq!(verdict(&release, 600), ", limit 720: met, goal 600: met");
        let rows = rows(&[release]);
        let last = "| `release` | 650 s, limit 720: met, goal 600: MISSED | 40 MB |";
        assert_eq!(rows.lines().last(), Some(last));
    }
}
