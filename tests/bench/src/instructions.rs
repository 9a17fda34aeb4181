//! Counts the instructions of a request in user space by callgrind, through a socket, with one worker
//! thread. Unlike times, they are the same on every machine with the same C library.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Parser;

use crate::{
    Result, cores,
    load::{Length, Load},
    request::{Ask, Binding},
    server::{A2A, FLOOR, Program},
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

/// The limits relative to the floor.
const MUST: f64 = 1.5;
const GOAL: f64 = 1.35;

/// What is counted: an answer to a message, or an event of a stream.
struct Case {
    title: &'static str,
    binding: Binding,
    ask: Ask,
    /// The requests of two runs. What a server does once is in both, so their difference counts.
    requests: [usize; 2],
    is_limited: bool,
}

const fn send(title: &'static str, binding: Binding) -> Case {
    Case { title, binding, ask: Ask::Send("hello"), requests: [400, 2_400], is_limited: true }
}

const fn stream(title: &'static str, binding: Binding) -> Case {
    let ask = Ask::Stream(CHUNKS);
    Case { title, binding, ask, requests: [20, 80], is_limited: false }
}

const CASES: [Case; 5] = [
    send("SendMessage, JSON-RPC", Binding::JsonRpc),
    send("SendMessage, HTTP+JSON", Binding::Rest),
    send("SendMessage, gRPC", Binding::Grpc),
    stream("stream event, JSON-RPC", Binding::JsonRpc),
    stream("stream event, gRPC", Binding::Grpc),
];

/// Requests in flight.
const IN_FLIGHT: usize = 8;

/// Counts for the floor and for a build of a2a, and returns whether all limits are met.
pub(crate) fn measure(words: impl Iterator<Item = String>) -> Result<bool> {
    let name = format!("bench {COMMAND}");
    let arguments = Arguments::parse_from(std::iter::once(name).chain(words));
    let only = arguments.only.unwrap_or_default();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("{:<26} {:>10} {:>10} {:>6} {:>6} {:>6}", "", A2A, FLOOR, "ratio", "must", "goal");
    let mut is_met = true;
    for case in CASES.iter().filter(|case| case.title.contains(&only)) {
        let counts = folder.path().join("counts");
        let floor = count(case, &counts, Program::floor)?;
        let bench = ["--profile", "bench"].map(Into::into);
        let ours = count(case, &counts, || Program::a2a(A2A, &arguments.binary, &bench))?;
        if let Some(profiles) = &arguments.profiles {
            let profile = profiles.join(case.title.replace([',', ' '], "-"));
            fs::copy(&counts, &profile)
                .map_err(|error| format!("{}: {error}", profile.display()))?;
        }
        let ratio = ours / floor;
        let limits = match case.is_limited {
            true => format!("{MUST:>6} {GOAL:>6} {}", mark(ratio)),
            false => String::new(),
        };
        is_met &= !case.is_limited || ratio <= MUST;
        println!("{:<26} {ours:>10.0} {floor:>10.0} {ratio:>6.2} {limits}", case.title);
    }
    Ok(is_met)
}

fn mark(ratio: f64) -> &'static str {
    match ratio {
        ..=GOAL => "goal",
        ..=MUST => "must",
        _ => "MISSED",
    }
}

/// Counts the instructions of each response or event.
fn count(case: &Case, counts: &Path, program: impl Fn() -> Program) -> Result<f64> {
    let [few, many] = case.requests.map(|requests| -> Result<(f64, f64)> {
        let server = program().counted(counts).start();
        let load = Load {
            server: &server,
            binding: case.binding,
            asks: std::slice::from_ref(&case.ask),
            in_flight: IN_FLIGHT,
            rate: None,
            length: Length::Requests { count: requests, limit: Duration::from_secs(300) },
        };
        let answered = load.run()?.events as f64;
        server.end()?;
        cores::stay_on_any();
        Ok((total(counts)? as f64, answered))
    });
    let ((few, answered_few), (many, answered_many)) = (few?, many?);
    Ok((many - few) / (answered_many - answered_few))
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
