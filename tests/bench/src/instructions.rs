//! Counts the instructions of a request in user space by callgrind, through a socket, with one worker
//! thread. Unlike times, they are the same on every machine with the same C library.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use clap::Parser;

use crate::{
    Result, cores,
    load::{Length, Load},
    report::{Mark, Results},
    request::{Ask, Binding},
    rows::{ROWS, Row},
    server::{A2A, FLOOR, MINIMUM, Program},
    throughput::CHUNKS,
};

/// The argument that runs these measurements.
pub(crate) const COMMAND: &str = "instructions";

/// The command line.
#[derive(Debug, Parser)]
struct Arguments {
    /// The build of a2a to count
    binary: PathBuf,
    /// Count only what has this text in its name
    #[arg(long)]
    only: Option<String>,
    /// Directory for callgrind's profiles of a2a
    #[arg(long)]
    profiles: Option<PathBuf>,
}

/// What is counted: an answer to a message, or an event of a stream.
struct Case {
    name: &'static str,
    binding: Binding,
    ask: Ask,
    /// The requests of two runs. What a server does once is in both, so their difference counts.
    requests: [usize; 2],
}

const fn send(name: &'static str, binding: Binding) -> Case {
    Case { name, binding, ask: Ask::Send("hello"), requests: [400, 2_400] }
}

const fn stream(name: &'static str, binding: Binding) -> Case {
    Case { name, binding, ask: Ask::Stream(CHUNKS), requests: [20, 80] }
}

const CASES: [Case; 5] = [
    send("instructions.send.jsonrpc", Binding::JsonRpc),
    send("instructions.send.rest", Binding::Rest),
    send("instructions.send.grpc", Binding::Grpc),
    stream("instructions.stream.jsonrpc", Binding::JsonRpc),
    stream("instructions.stream.grpc", Binding::Grpc),
];

/// Requests in flight.
const IN_FLIGHT: usize = 8;

/// Counts for the floor, the honest minimum and a build of a2a, and returns whether all limits are
/// met.
pub(crate) fn main(words: impl Iterator<Item = String>) -> Result<bool> {
    let name = format!("bench {COMMAND}");
    let arguments = Arguments::parse_from(std::iter::once(name).chain(words));
    let only = arguments.only.unwrap_or_default();
    let bench = ["--profile", "bench"].map(Into::into);
    let mut programs =
        [Program::a2a(A2A, &arguments.binary, &bench), Program::floor(), Program::minimum()];
    let mut results = Results::default();
    let title = |case: &Case| Row::known(case.name).map_or("", |row| row.title);
    for case in CASES.iter().filter(|case| title(case).contains(&only)) {
        let profile = arguments.profiles.as_ref().map(|folder| folder.join(case.name));
        count_all(case, &mut programs, profile.as_deref(), &mut results)?;
    }
    println!(
        "\n{:<42} {:>10} {:>10} {:>6} {:>15} {:>6} {:>6} {:>6}",
        "", A2A, FLOOR, "ratio", MINIMUM, "ratio", "must", "goal"
    );
    let mut is_met = true;
    for row in ROWS.iter().filter(|row| results.mark(row) != Mark::NotMeasured) {
        let figure = |server| results.median(row, server);
        let shown = |figure: Option<f64>| figure.map_or_else(String::new, |it| format!("{it:.0}"));
        let ratio = |server| {
            let ratio = figure(A2A).zip(figure(server)).map(|(ours, theirs)| ours / theirs);
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
        };
        println!(
            "{:<42} {:>10} {:>10} {:>6} {:>15} {:>6} {:>6} {:>6} {}",
            row.title,
            shown(figure(A2A)),
            shown(figure(FLOOR)),
            ratio(FLOOR),
            shown(figure(MINIMUM)),
            ratio(MINIMUM),
            row.bound(row.must),
            row.bound(row.goal),
            results.mark(row).text(row),
        );
        is_met &= results.is_met(row, &[]).unwrap_or(true);
    }
    Ok(is_met)
}

/// Counts for the report, which goes on without valgrind.
pub(crate) fn measure<'a>(
    programs: impl Iterator<Item = &'a mut Program>,
    results: &mut Results,
) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIPPED: instructions: valgrind is not installed");
        return Ok(());
    }
    // Interpreters of other languages take minutes.
    let mut programs: Vec<_> = programs.filter(|program| program.is_native()).collect();
    for case in CASES.iter().filter(|case| results.wants(case.name)).collect::<Vec<_>>() {
        count_all(case, programs.iter_mut().map(|program| &mut **program), None, results)?;
    }
    Ok(())
}

/// Adds the counts of every program that has the binding.
fn count_all<'a>(
    case: &Case,
    programs: impl IntoIterator<Item = &'a mut Program>,
    profile: Option<&Path>,
    results: &mut Results,
) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let counts = folder.path().join("counts");
    for program in programs {
        match count(case, &counts, program) {
            Ok(Some(count)) => results.figure(case.name, &program.name, 1, count),
            Ok(None) => {}
            Err(error) if program.is_rival => println!("FAILED: {error}"),
            Err(error) => return Err(error),
        }
        if let Some(profile) = profile.filter(|_| program.name == A2A) {
            fs::copy(&counts, profile)
                .map_err(|error| format!("{}: {error}", profile.display()))?;
        }
    }
    Ok(())
}

/// Counts the instructions of each response or event; `None` without the binding.
fn count(case: &Case, counts: &Path, program: &Program) -> Result<Option<f64>> {
    let mut counted = program.counted(counts);
    let mut runs = [(0.0, 0.0); 2];
    for (run, count) in runs.iter_mut().zip(case.requests) {
        let server = counted.start();
        cores::stay_on_any();
        if !case.binding.is_served_by(&server) {
            return Ok(None);
        }
        let load = Load {
            server: &server,
            binding: case.binding,
            asks: std::slice::from_ref(&case.ask),
            in_flight: IN_FLIGHT,
            rate: None,
            length: Length::Requests { count, limit: Duration::from_secs(300) },
        };
        let answered = load.run()?.events as f64;
        server.end()?;
        *run = (total(counts)? as f64, answered);
    }
    let [(few, answered_few), (many, answered_many)] = runs;
    Ok(Some((many - few) / (answered_many - answered_few)))
}

/// The total of callgrind's output.
fn total(counts: &Path) -> Result<u64> {
    let text =
        fs::read_to_string(counts).map_err(|error| format!("callgrind's counts: {error}"))?;
    let lines = ["summary: ", "totals: "];
    let total =
        text.lines().find_map(|line| lines.iter().find_map(|start| line.strip_prefix(start)));
    let total = total.and_then(|total| total.trim().parse().ok());
    total.ok_or_else(|| "callgrind's counts have no total".to_owned())
}
