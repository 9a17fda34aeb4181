//! The page of the documentation, with the results of every machine.

use std::{fmt::Write as _, path::Path};

use crate::{
    Result, chart, readme,
    rows::{Quantity, ROWS, Row, Unit, instructions_of, text},
    server::{A2A, FLOOR, MINIMUM, RELEASE, STARTED},
    state::{self, State},
};

const INTRODUCTION: &str = "# Benchmarks

Written by `cargo xtask bench`; do not edit. [Performance](performance.md) says what
to tune, and its [history](development/performance.md) where the time goes.

A server has one core, and the load another one. In each round all servers are measured back to
back; a ratio is taken inside the round, and the tables have the medians of the rounds. A round in
which a server had less than 95 % of its core does not count for a ratio of rates; if none is left,
the ratio is void. Ratios depend on the processor, instructions do not.

| Server | |
|---|---|
| a2a serve | `a2a-test-agent serve --profile bench`: `a2a serve` with an agent that answers at once, tasks in memory, all bindings and revisions, and no request log, metrics or authentication; built with the profile `dist`, allocates with mimalloc |
| floor | a bare handler of axum or tonic that reads the request and writes the same response, with no engine, store or validation; built alike, allocates with the C library |
| honest minimum | the handlers of the floor around the least that an engine must do: an executor in its own task, its events through a bounded channel, each folded into a task in a sharded map; buffers are not flushed before they are full, allocates with mimalloc |
| release | a2a serve, built with the profile `release` |
| as started | `a2a serve` with its defaults: the demo agent, SQLite, metrics, and the log in a file; for streams the agent of \"a2a serve\" with these defaults |
| as started, in memory | the same with `--store memory` |
| durable floor | a bare handler of axum that writes the same rows to SQLite, as many in a transaction as are waiting, and responds when they are on disk |

CPU is the CPU time of a request or event, and instructions are its instructions in user space, with
one worker thread; in parentheses relative to the server beside it. A mark in parentheses is
reported only: these ratios depend on the processor. A row that is missed is repeated, and two of
three runs count. \"Transitions\" are those of the stores in process, on all cores, relative to a loop
that writes the same rows. \"Cost\" is the CPU time of a SendMessage over JSON-RPC with 64 in flight,
relative to that of the same server without the named part.
";

const OTHER_SERVERS: &str = "
Ratio to the floor, or the figure itself where there is no floor; behind it, how many times better
\"a2a serve\" is. Servers of other SDKs run an echo agent with tasks in memory, without log, metrics,
TLS and authentication; those in Rust are built with optimization level 3, `lto = \"fat\"` and one
codegen unit, and allocate with the C library. A cell is void if in no round both the server and the
floor had their core. An empty cell was not measured: the server has no such binding or command,
failed, or is too slow.

";

/// A table of a machine.
struct Section {
    heading: &'static str,
    /// The titles of the figures. A basis without a title is named in each cell.
    subject: &'static str,
    basis: Option<&'static str>,
    has: fn(&Row) -> bool,
}

const SECTIONS: [Section; 4] = [
    Section {
        heading: "Relative to the floor",
        subject: A2A,
        basis: Some(FLOOR),
        has: |row| row.subject == A2A && row.basis.is_none_or(|basis| basis == FLOOR),
    },
    Section {
        heading: "Relative to the honest minimum",
        subject: A2A,
        basis: Some(MINIMUM),
        has: |row| row.basis == Some(MINIMUM),
    },
    Section {
        heading: "As started",
        subject: STARTED,
        basis: None,
        has: |row| row.subject == STARTED,
    },
    Section {
        heading: "The build profile `release`",
        subject: RELEASE,
        basis: Some(A2A),
        has: |row| row.subject == RELEASE,
    },
];

/// Writes the page and the chart, and the sentence of the README, below the root of the workspace.
pub(crate) fn write(root: &Path, states: &[State]) -> Result<()> {
    let Some(first) = states.first() else { return Ok(()) };
    let docs = root.join("docs");
    state::write(&docs.join("benchmarks.svg"), &chart::svg(first))?;
    state::write(&docs.join("benchmarks.md"), &markdown(states))?;
    readme::update(&root.join("README.md"), first)
}

fn markdown(states: &[State]) -> String {
    let mut page = INTRODUCTION.to_owned();
    let _ = writeln!(page, "\n![Rates relative to the floor](benchmarks.svg)\n");
    page += if states.len() > 1 {
        "The chart is that of the first of these machines:\n\n"
    } else {
        "Measured on one machine:\n\n"
    };
    for state in states {
        let _ = writeln!(page, "- {}, {}", state.machine, state.date);
    }
    for state in states {
        let _ = writeln!(page, "\n## {}\n", state.machine);
        let versions = state.versions.iter().map(|(name, version)| format!("{name} {version}"));
        let _ = writeln!(page, "{}.", versions.collect::<Vec<_>>().join(", "));
        for section in &SECTIONS {
            page += &table(state, section);
        }
        page += &others(state);
    }
    page
}

fn table(state: &State, section: &Section) -> String {
    let Section { heading, subject, basis, has } = section;
    let mut lines = String::new();
    for row in ROWS.iter().filter(|row| has(row)) {
        let results = &state.results;
        let figure = |row: &Row, server: &str| {
            let figure = results.median(row, server);
            figure.map(|figure| text(row.unit, figure))
        };
        let ratio = row.basis.and_then(|_| results.judged(row, row.subject));
        let against = row.basis.and_then(|name| {
            let figure = figure(row, name)?;
            Some(if basis.is_some() { figure } else { format!("{figure}, {name}") })
        });
        let beside = |of: &dyn Fn(&str) -> Option<f64>, unit: Unit| {
            let ours = of(row.subject)?;
            let ratio = row.basis.and_then(of).map(|theirs| format!(" ({:.2})", ours / theirs));
            Some(text(unit, ours) + &ratio.unwrap_or_default())
        };
        let cpu = beside(&|server| results.cpu(row, server), Unit::Microseconds);
        // It would be the figure itself.
        let cpu = cpu.filter(|_| row.quantity == Quantity::Figure);
        let instructions = instructions_of(row.case);
        let instructions = beside(&|server| results.median(instructions?, server), Unit::Count);
        let _ = writeln!(
            lines,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {}{} |",
            row.title,
            figure(row, row.subject).unwrap_or_default(),
            against.unwrap_or_default(),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            cpu.unwrap_or_default(),
            instructions.unwrap_or_default(),
            row.bound(row.must),
            row.bound(row.goal),
            results.mark(row).text(row),
            state.tally(row),
        );
    }
    let basis = basis.unwrap_or("against");
    format!(
        "\n### {heading}\n\n| | {subject} | {basis} | ratio | CPU | instructions | must | goal | |\n\
         |---|---|---|---|---|---|---|---|---|\n{lines}"
    )
}

/// The table of all servers relative to the floor.
fn others(state: &State) -> String {
    let results = &state.results;
    let own = [RELEASE, STARTED];
    let servers: Vec<_> = own.into_iter().chain(state.rivals.iter().map(String::as_str)).collect();
    let mut lines = String::new();
    for row in
        ROWS.iter().filter(|row| row.subject == A2A && row.basis.is_none_or(|it| it == FLOOR))
    {
        let cell = |server: &&str| {
            let Some(judged) = results.judged(row, server) else {
                return results.median(row, server).map(|_| "void".to_owned());
            };
            let shown = match row.basis {
                Some(_) => format!("{judged:.3}"),
                None => text(row.unit, judged),
            };
            if own.contains(server) {
                return Some(shown);
            }
            let lead = results.lead(row, server)?;
            Some(format!("{shown} (×{lead:.1})"))
        };
        let cells: Vec<_> = servers.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            let cells: Vec<_> = cells.into_iter().map(Option::unwrap_or_default).collect();
            let _ = writeln!(lines, "| {} | {} |", row.title, cells.join(" | "));
        }
    }
    if lines.is_empty() {
        return lines;
    }
    let names = servers.join(" | ");
    let rule = "---|".repeat(servers.len());
    format!("\n### Other servers\n{OTHER_SERVERS}| | {names} |\n|---|{rule}\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        report::{Results, Sample},
        rows::Row,
        server::DURABLE,
    };

    fn state(machine: &str) -> State {
        let mut results = Results::default();
        let rate = |figure: f64, cpu: f64| Sample {
            figure,
            cpu: Some(cpu * 1e-6),
            utilization: Some(1.0),
        };
        for (server, figure, cpu, instructions) in [
            (A2A, 50_000.0, 20.0, 60_000.0),
            (FLOOR, 100_000.0, 10.0, 40_000.0),
            (MINIMUM, 80_000.0, 12.5, 50_000.0),
            (RELEASE, 40_000.0, 24.0, 80_000.0),
            ("a2a-lf", 25_000.0, 40.0, 180_000.0),
        ] {
            results.add("send.jsonrpc.64", server, 1, rate(figure, cpu));
            results.figure("instructions.send.jsonrpc", server, 1, instructions);
        }
        results.figure("send.jsonrpc.64", STARTED, 1, 15_000.0);
        results.figure("started.64", STARTED, 1, 9_000.0);
        results.figure("started.64", DURABLE, 1, 12_000.0);
        results.figure("burst", A2A, 1, 0.0);
        let mut state = State::new(results, &[Row::known("started.64").unwrap()], &[]);
        state.machine = machine.to_owned();
        state.rivals = vec!["a2a-lf".to_owned()];
        state
    }

    #[test]
    fn rows_have_cpu_time_and_instructions_beside_each_ratio() {
        let page = markdown(&[state("One, 2 cores")]);
        for line in [
            "| SendMessage, JSON-RPC, 64 | 50000/s | 100000/s | 0.50 | 20.0 µs (2.00) | 60000 (1.50) \
             | 0.45 | 0.65 | (must) |",
            "| SendMessage, JSON-RPC, 64 | 50000/s | 80000/s | 0.62 | 20.0 µs (1.60) | 60000 (1.20) \
             | 0.6 | 0.85 | must |",
            "| SendMessage, JSON-RPC, 64 | 9000/s | 12000/s, durable floor | 0.75 |  |  | 0.6 | 0.8 \
             | must |",
            "| CPU per SendMessage, JSON-RPC, 64 | 24.0 µs | 20.0 µs | 1.20 |  | 80000 (1.33) | 1.25 \
             | 1.1 | must |",
            "| SendMessage, JSON-RPC, 64 | 0.400 | 0.150 | 0.250 (×2.0) |",
            "| events lost of 10,000 without a yield | 0 |  |  |  |  | 0 | 0 | goal |",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}\n{page}");
        }
    }

    #[test]
    fn page_has_the_results_of_every_machine() {
        let page = markdown(&[state("One, 2 cores"), state("Other, 4 cores")]);
        for heading in ["## One, 2 cores", "## Other, 4 cores"] {
            assert!(page.lines().any(|line| line == heading), "{heading}\n{page}");
        }
        assert!(page.contains("The chart is that of the first"), "{page}");
    }

    #[test]
    fn row_that_was_repeated_has_its_count() {
        let repeated = state("One, 2 cores").with(state("One, 2 cores"));
        assert!(markdown(&[repeated]).contains("| must, met 2 of 2 |"));
    }
}
