//! The rows of the report: what is measured, with what it is compared, and its limits.

use clap::ValueEnum;

use crate::server::{A2A, DURABLE, FLOOR, MINIMUM, RELEASE, STARTED, STARTED_IN_MEMORY};

/// A figure of the report with its limits.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The measurement, of which there may be several rows.
    pub(crate) case: &'static str,
    pub(crate) quantity: Quantity,
    pub(crate) unit: Unit,
    /// The server to which the limits apply.
    pub(crate) subject: &'static str,
    /// The server by whose figure of the same round the figure is divided.
    pub(crate) basis: Option<&'static str>,
    pub(crate) must: Limit,
    pub(crate) goal: Limit,
    /// Whether the report fails if the limit is missed.
    pub(crate) is_binding: bool,
    /// Whether the report fails if a rival is better.
    pub(crate) is_contest: bool,
}

/// What of a sample counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Figure,
    /// CPU time per request or event.
    Cpu,
}

/// The unit of an absolute figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond,
    Microseconds,
    Milliseconds,
    Bytes,
    KiB,
    MiB,
    Percent,
    Count,
    Ratio,
}

/// A limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    /// Better than this rival in the same run.
    AheadOf(&'static str),
    None,
}

/// The parts of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// SendMessage and streams on every binding
    Throughput,
    /// `a2a serve` with its defaults
    Started,
    /// Many stored tasks: GetTask, ListTasks, memory, latency under creation of tasks
    Tasks,
    /// Idle streams, many subscribers of one task, bursts
    Streams,
    /// Latency at 5,000 requests/s
    Latency,
    /// Startup time and memory
    Start,
    /// SQLite and PostgreSQL
    Durable,
    /// Cost of authentication, logs, metrics and older revisions
    Cost,
    /// Instructions of a request
    Instructions,
}

impl Row {
    /// The row with this id.
    pub(crate) fn known(id: &str) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.id == id)
    }

    /// The part of the report that measures this row.
    pub(crate) fn part(&self) -> Part {
        match self.case.split('.').next().unwrap_or_default() {
            "started" | "sync" => Part::Started,
            "get" | "growth" | "history" | "list" => Part::Tasks,
            "burst" | "fan-out" => Part::Streams,
            "latency" => Part::Latency,
            "start" => Part::Start,
            "durable" => Part::Durable,
            "cost" => Part::Cost,
            "instructions" => Part::Instructions,
            "memory" => match self.case {
                "memory.task" => Part::Tasks,
                "memory.subscriber" => Part::Streams,
                _ => Part::Start,
            },
            _ => Part::Throughput,
        }
    }

    /// A limit of this row, with its unit.
    pub(crate) fn bound(&self, limit: Limit) -> String {
        match limit {
            Limit::AtLeast(bound) | Limit::AtMost(bound) => match self.basis {
                Some(_) => bound.to_string(),
                None => text(self.unit, bound),
            },
            Limit::AheadOf(rival) => format!("> {rival}"),
            Limit::None => String::new(),
        }
    }

    /// Whether more is better.
    pub(crate) fn is_rate(&self) -> bool {
        self.unit == Unit::PerSecond
    }

    /// The same, judging the samples of another case.
    const fn of(mut self, case: &'static str) -> Self {
        self.case = case;
        self
    }

    /// The same, for another server and its basis.
    const fn between(mut self, subject: &'static str, basis: &'static str) -> Self {
        self.subject = subject;
        self.basis = Some(basis);
        self.is_contest = false;
        self
    }

    /// The same, without an effect on the exit code unless a rival leads.
    const fn reported(mut self) -> Self {
        self.is_binding = false;
        self
    }

    /// The same, without limits.
    const fn unlimited(mut self) -> Self {
        self.must = Limit::None;
        self.goal = Limit::None;
        self.reported()
    }

    /// The same, without an effect on the exit code if a rival leads.
    const fn no_contest(mut self) -> Self {
        self.is_contest = false;
        self
    }
}

/// A rate relative to the floor.
const fn rate(id: &'static str, title: &'static str, must: Limit, goal: Limit) -> Row {
    let (quantity, unit, basis) = (Quantity::Figure, Unit::PerSecond, Some(FLOOR));
    let (case, subject, is_binding, is_contest) = (id, A2A, true, true);
    Row { id, title, case, quantity, unit, subject, basis, must, goal, is_binding, is_contest }
}

/// A time or a count relative to the floor.
const fn time(id: &'static str, title: &'static str, unit: Unit, must: f64, goal: f64) -> Row {
    let (must, goal) = (Limit::AtMost(must), Limit::AtMost(goal));
    Row { unit, ..rate(id, title, must, goal) }
}

/// An absolute figure.
const fn figure(id: &'static str, title: &'static str, unit: Unit, must: f64, goal: f64) -> Row {
    Row { basis: None, ..time(id, title, unit, must, goal) }
}

/// CPU time per request of another case, relative to the floor.
const fn cpu(id: &'static str, title: &'static str, case: &'static str) -> Row {
    let row = time(id, title, Unit::Microseconds, 2.2, 1.5).of(case).reported();
    Row { quantity: Quantity::Cpu, ..row }
}

/// A rate relative to the honest minimum.
const fn minimum(id: &'static str, title: &'static str, case: &'static str) -> Row {
    rate(id, title, at_least(0.6), at_least(0.85)).of(case).between(A2A, MINIMUM)
}

/// CPU time of the build profile `release`, relative to `dist`.
const fn release(id: &'static str, title: &'static str, case: &'static str) -> Row {
    let row = time(id, title, Unit::Microseconds, 1.25, 1.10).of(case).between(RELEASE, A2A);
    Row { quantity: Quantity::Cpu, ..row }
}

/// The rate of a server with defaults, relative to another one.
const fn started(
    id: &'static str,
    title: &'static str,
    case: &'static str,
    basis: &'static str,
) -> Row {
    rate(id, title, at_least(0.6), at_least(0.8)).of(case).between(STARTED, basis)
}

/// The rate of a server with defaults relative to the floor.
const fn started_bare(id: &'static str, title: &'static str, case: &'static str) -> Row {
    started(id, title, case, FLOOR).unlimited()
}

/// Messages per sync of the disk.
const fn sync(id: &'static str, title: &'static str) -> Row {
    Row { unit: Unit::Ratio, ..started(id, title, id, DURABLE).unlimited() }
}

/// Instructions per request or event, relative to the floor.
const fn instructions(id: &'static str, title: &'static str) -> Row {
    time(id, title, Unit::Count, 1.5, 1.35)
}

const fn at_least(bound: f64) -> Limit {
    Limit::AtLeast(bound)
}

/// Messages over gRPC are compared with the fastest rival.
const GRPC_RIVAL: Limit = Limit::AheadOf("a2a-lf");

/// Every figure, in the order of the report.
pub(crate) static ROWS: [Row; 67] = [
    rate("send.jsonrpc.16", "SendMessage, JSON-RPC, 16 in flight", at_least(0.45), at_least(0.65))
        .reported(),
    rate("send.jsonrpc.64", "SendMessage, JSON-RPC, 64", at_least(0.45), at_least(0.65)).reported(),
    rate("send.rest.16", "SendMessage, HTTP+JSON, 16", at_least(0.45), at_least(0.65)).reported(),
    rate("send.rest.64", "SendMessage, HTTP+JSON, 64", at_least(0.45), at_least(0.65)).reported(),
    rate("send.grpc.16", "SendMessage, gRPC, 16", GRPC_RIVAL, at_least(0.9)),
    rate("send.grpc.64", "SendMessage, gRPC, 64", GRPC_RIVAL, at_least(0.9)),
    cpu("cpu.jsonrpc.16", "CPU per SendMessage, JSON-RPC, 16", "send.jsonrpc.16"),
    cpu("cpu.jsonrpc.64", "CPU per SendMessage, JSON-RPC, 64", "send.jsonrpc.64"),
    cpu("cpu.rest.16", "CPU per SendMessage, HTTP+JSON, 16", "send.rest.16"),
    cpu("cpu.rest.64", "CPU per SendMessage, HTTP+JSON, 64", "send.rest.64"),
    rate("stream.jsonrpc", "events on 64 streams, JSON-RPC", at_least(0.35), at_least(0.8))
        .reported(),
    rate("stream.rest", "events on 64 streams, HTTP+JSON", at_least(0.35), at_least(0.8))
        .reported(),
    rate("stream.grpc", "events on 64 streams, gRPC", at_least(0.3), at_least(0.5)).reported(),
    // 1.5 and 1.35 times what a bare handler of axum takes that is not optimized across crates: these
    // limits stay where they are when the floor becomes leaner.
    figure(
        "instructions.send.jsonrpc",
        "instructions of a SendMessage, JSON-RPC",
        Unit::Count,
        61_200.0,
        55_000.0,
    ),
    figure(
        "instructions.send.rest",
        "instructions of a SendMessage, HTTP+JSON",
        Unit::Count,
        56_200.0,
        50_600.0,
    ),
    instructions("instructions.send.grpc", "instructions of a SendMessage, gRPC"),
    instructions("instructions.stream.jsonrpc", "instructions of an event, JSON-RPC").unlimited(),
    instructions("instructions.stream.grpc", "instructions of an event, gRPC").unlimited(),
    figure("burst", "events lost of 10,000 without a yield", Unit::Count, 0.0, 0.0),
    rate("fan-out", "events to 1,000 subscribers of one task", at_least(0.5), at_least(0.8))
        .reported(),
    rate("get.jsonrpc", "GetTask among 100,000, JSON-RPC, 64", at_least(0.75), at_least(0.95))
        .reported(),
    rate("get.rest", "GetTask among 100,000, HTTP+JSON, 64", at_least(0.75), at_least(0.95))
        .reported(),
    rate("get.grpc", "GetTask among 100,000, gRPC, 64", at_least(0.75), at_least(0.95)).reported(),
    rate("history", "GetTask with 1,000 messages", at_least(1.0), at_least(3.0)).reported(),
    time("list", "ListTasks, page of 50 among 100,000, p50", Unit::Microseconds, 1.3, 1.1)
        .reported(),
    figure("list.growth", "ListTasks among 100,000 against 10,000", Unit::Ratio, 1.2, 1.05),
    figure("memory.task", "resident set per stored task", Unit::Bytes, 900.0, 650.0),
    figure("memory.subscriber", "resident set per idle subscriber", Unit::KiB, 15.0, 11.0),
    figure(
        "growth",
        "p99 at half load while 200,000 tasks are stored",
        Unit::Milliseconds,
        0.005,
        0.002,
    ),
    time("latency", "p50 at 5,000 requests/s", Unit::Microseconds, 1.35, 1.15).reported(),
    time("start", "start to first response", Unit::Milliseconds, 1.5, 1.0).no_contest(),
    figure("memory.start", "resident set at start", Unit::MiB, 14.0, 8.0).no_contest(),
    minimum("minimum.jsonrpc.16", "SendMessage, JSON-RPC, 16 in flight", "send.jsonrpc.16"),
    minimum("minimum.jsonrpc.64", "SendMessage, JSON-RPC, 64", "send.jsonrpc.64"),
    minimum("minimum.rest.16", "SendMessage, HTTP+JSON, 16", "send.rest.16"),
    minimum("minimum.rest.64", "SendMessage, HTTP+JSON, 64", "send.rest.64"),
    minimum("minimum.stream.jsonrpc", "events on 64 streams, JSON-RPC", "stream.jsonrpc"),
    minimum("minimum.stream.rest", "events on 64 streams, HTTP+JSON", "stream.rest"),
    started("started.1", "SendMessage, JSON-RPC, 1 in flight", "started.1", DURABLE),
    started("started.16", "SendMessage, JSON-RPC, 16", "started.16", DURABLE),
    started("started.64", "SendMessage, JSON-RPC, 64", "started.64", DURABLE),
    sync("sync.1", "messages per sync of the disk, 1"),
    sync("sync.16", "messages per sync of the disk, 16"),
    sync("sync.64", "messages per sync of the disk, 64"),
    started("started.memory.1", "SendMessage, JSON-RPC, 1", "started.1", STARTED_IN_MEMORY)
        .reported(),
    started("started.memory.16", "SendMessage, JSON-RPC, 16", "started.16", STARTED_IN_MEMORY)
        .reported(),
    started("started.memory.64", "SendMessage, JSON-RPC, 64", "started.64", STARTED_IN_MEMORY),
    started_bare("started.jsonrpc.64", "SendMessage, JSON-RPC, 64", "send.jsonrpc.64"),
    started_bare("started.rest.64", "SendMessage, HTTP+JSON, 64", "send.rest.64"),
    started_bare("started.grpc.64", "SendMessage, gRPC, 64", "send.grpc.64"),
    started_bare("started.stream.jsonrpc", "events on 64 streams, JSON-RPC", "stream.jsonrpc"),
    started_bare("started.stream.grpc", "events on 64 streams, gRPC", "stream.grpc"),
    release("release.jsonrpc", "CPU per SendMessage, JSON-RPC, 64", "send.jsonrpc.64"),
    release("release.rest", "CPU per SendMessage, HTTP+JSON, 64", "send.rest.64"),
    release("release.grpc", "CPU per SendMessage, gRPC, 64", "send.grpc.64"),
    release("release.stream.jsonrpc", "CPU per event, JSON-RPC", "stream.jsonrpc"),
    release("release.stream.rest", "CPU per event, HTTP+JSON", "stream.rest"),
    release("release.stream.grpc", "CPU per event, gRPC", "stream.grpc"),
    rate(
        "durable.sqlite.1",
        "transitions in SQLite, one task in flight",
        at_least(0.6),
        at_least(0.8),
    ),
    rate("durable.sqlite.16", "transitions in SQLite, 16", at_least(0.6), at_least(0.9)),
    rate("durable.sqlite.64", "transitions in SQLite, 64", at_least(0.6), at_least(0.9)),
    rate("durable.postgres.16", "transitions in PostgreSQL, 16", at_least(0.8), at_least(2.0)),
    rate("durable.postgres.64", "transitions in PostgreSQL, 64", at_least(0.8), at_least(2.0)),
    figure("cost.jwt", "cost of authentication (JWT)", Unit::Percent, 10.0, 5.0),
    figure("cost.log", "cost of the request log", Unit::Percent, 5.0, 2.0),
    figure("cost.metrics", "cost of metrics", Unit::Percent, 5.0, 2.0),
    figure("cost.revisions", "cost of older revisions", Unit::Percent, 5.0, 2.0),
];

/// The row with the instructions of the requests of a case.
pub(crate) fn instructions_of(case: &str) -> Option<&'static Row> {
    let mut words = case.split('.');
    let (operation, binding) = (words.next()?, words.next()?);
    Row::known(&format!("instructions.{operation}.{binding}"))
}

/// A figure with its unit.
pub(crate) fn text(unit: Unit, figure: f64) -> String {
    match unit {
        Unit::PerSecond => format!("{figure:.0}/s"),
        Unit::Microseconds => format!("{:.1} µs", figure * 1e6),
        Unit::Milliseconds => format!("{:.1} ms", figure * 1e3),
        Unit::Bytes => format!("{figure:.0} B"),
        Unit::KiB => format!("{figure:.1} KiB"),
        Unit::MiB => format!("{figure:.1} MiB"),
        Unit::Percent => format!("{figure:.1} %"),
        Unit::Count => format!("{figure:.0}"),
        Unit::Ratio => format!("{figure:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_different_ids_and_a_measured_case() {
        for (index, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..index].iter().all(|other| other.id != row.id), "{}", row.id);
            assert!(!row.is_contest || row.subject == A2A, "{}", row.id);
        }
    }

    #[test]
    fn instructions_of_a_case_are_those_of_its_operation_and_binding() {
        for (case, row) in [
            ("send.jsonrpc.64", Some("instructions.send.jsonrpc")),
            ("stream.grpc", Some("instructions.stream.grpc")),
            ("stream.rest", None),
            ("history", None),
        ] {
            assert_eq!(instructions_of(case).map(|row| row.id), row, "{case}");
        }
    }
}
