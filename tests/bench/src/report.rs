//! The measured figures and their limits.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::server::{A2A, FLOOR};

/// A figure of the report with its limits.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    pub(crate) basis: Basis,
    pub(crate) must: Limit,
    pub(crate) goal: Limit,
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

/// The value to which a limit applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The figure divided by that of the floor in the same round.
    Floor,
    /// The figure.
    Figure,
}

/// A limit of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Limit {
    fn holds(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(bound) => figure >= bound,
            Self::AtMost(bound) => figure <= bound,
        }
    }

    fn bound(self) -> f64 {
        match self {
            Self::AtLeast(bound) | Self::AtMost(bound) => bound,
        }
    }
}

impl Row {
    /// A limit of this row, with its unit.
    pub(crate) fn bound(&self, limit: Limit) -> String {
        match self.basis {
            Basis::Floor => limit.bound().to_string(),
            Basis::Figure => text(self.unit, limit.bound()),
        }
    }
}

/// A rate relative to the floor.
const fn rate(id: &'static str, title: &'static str, must: f64, goal: f64) -> Row {
    let (must, goal) = (Limit::AtLeast(must), Limit::AtLeast(goal));
    Row { id, title, unit: Unit::PerSecond, basis: Basis::Floor, must, goal }
}

/// A time relative to the floor.
const fn time(id: &'static str, title: &'static str, unit: Unit, must: f64, goal: f64) -> Row {
    let (must, goal) = (Limit::AtMost(must), Limit::AtMost(goal));
    Row { id, title, unit, basis: Basis::Floor, must, goal }
}

/// An absolute figure.
const fn figure(id: &'static str, title: &'static str, unit: Unit, must: f64, goal: f64) -> Row {
    let (must, goal) = (Limit::AtMost(must), Limit::AtMost(goal));
    Row { id, title, unit, basis: Basis::Figure, must, goal }
}

/// Every figure, in the order of the report.
pub(crate) static ROWS: [Row; 36] = [
    rate("send.jsonrpc.16", "SendMessage, JSON-RPC, 16 in flight", 0.45, 0.65),
    rate("send.jsonrpc.64", "SendMessage, JSON-RPC, 64", 0.45, 0.65),
    rate("send.rest.16", "SendMessage, HTTP+JSON, 16", 0.45, 0.65),
    rate("send.rest.64", "SendMessage, HTTP+JSON, 64", 0.45, 0.65),
    rate("send.grpc.16", "SendMessage, gRPC, 16", 0.60, 0.80),
    rate("send.grpc.64", "SendMessage, gRPC, 64", 0.60, 0.80),
    rate("send.default", "SendMessage, JSON-RPC, 64, as started by default", 0.10, 0.25),
    time("cpu.jsonrpc.16", "CPU per SendMessage, JSON-RPC, 16", Unit::Microseconds, 2.2, 1.5),
    time("cpu.jsonrpc.64", "CPU per SendMessage, JSON-RPC, 64", Unit::Microseconds, 2.2, 1.5),
    time("cpu.rest.16", "CPU per SendMessage, HTTP+JSON, 16", Unit::Microseconds, 2.2, 1.5),
    time("cpu.rest.64", "CPU per SendMessage, HTTP+JSON, 64", Unit::Microseconds, 2.2, 1.5),
    rate("stream.jsonrpc", "events on 64 streams, SSE", 0.35, 0.80),
    rate("stream.grpc", "events on 64 streams, gRPC", 0.30, 0.50),
    figure("burst", "events lost of 10,000 without a yield", Unit::Count, 0.0, 0.0),
    rate("fan-out", "events to 1,000 subscribers of one task", 0.50, 0.80),
    rate("get.jsonrpc", "GetTask among 100,000, JSON-RPC, 64", 0.75, 0.95),
    rate("get.rest", "GetTask among 100,000, HTTP+JSON, 64", 0.75, 0.95),
    rate("get.grpc", "GetTask among 100,000, gRPC, 64", 0.75, 0.95),
    rate("history", "GetTask with 1,000 messages", 1.0, 3.0),
    time("list", "ListTasks, page of 50 among 100,000, p50", Unit::Microseconds, 1.3, 1.1),
    figure("list.growth", "ListTasks among 100,000 against 10,000", Unit::Ratio, 1.2, 1.05),
    figure("memory.task", "resident set per stored task", Unit::Bytes, 900.0, 650.0),
    figure("memory.subscriber", "resident set per idle subscriber", Unit::KiB, 18.0, 11.0),
    figure(
        "growth",
        "p99 at half load while 200,000 tasks are stored",
        Unit::Milliseconds,
        0.005,
        0.002,
    ),
    time("latency", "p50 at 5,000 requests/s", Unit::Microseconds, 1.35, 1.15),
    time("start", "start to first response", Unit::Milliseconds, 2.0, 1.0),
    figure("memory.start", "resident set at start", Unit::MiB, 12.0, 8.0),
    rate("durable.sqlite.1", "transitions in SQLite, one task in flight", 0.6, 0.8),
    rate("durable.sqlite.16", "transitions in SQLite, 16 tasks in flight", 0.6, 0.9),
    rate("durable.sqlite.64", "transitions in SQLite, 64", 0.6, 0.9),
    rate("durable.postgres.16", "transitions in PostgreSQL, 16", 0.8, 2.0),
    rate("durable.postgres.64", "transitions in PostgreSQL, 64", 0.8, 2.0),
    figure("cost.jwt", "cost of authentication (JWT)", Unit::Percent, 5.0, 2.0),
    figure("cost.log", "cost of the request log", Unit::Percent, 5.0, 2.0),
    figure("cost.metrics", "cost of metrics", Unit::Percent, 5.0, 2.0),
    figure("cost.revisions", "cost of older revisions", Unit::Percent, 5.0, 2.0),
];

/// The result of a comparison with the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mark {
    Goal,
    Must,
    Missed,
    /// The load did not keep the servers busy in any round.
    Void,
    NotMeasured,
}

impl Mark {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Must => "must",
            Self::Missed => "MISSED",
            Self::Void => "VOID",
            Self::NotMeasured => "not measured",
        }
    }
}

/// One measurement of one server.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) figure: f64,
    /// CPU time per request or event, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<f64>,
    /// The share of the time in which the server had its core, if relevant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) utilization: Option<f64>,
}

/// Below this share, other processes or the load generator were measured instead.
pub(crate) const MIN_UTILIZATION: f64 = 0.95;

impl Sample {
    fn is_void(&self) -> bool {
        self.utilization.is_some_and(|utilization| utilization < MIN_UTILIZATION)
    }
}

/// Every measurement: by row, by server, by round.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Results {
    samples: BTreeMap<&'static str, BTreeMap<String, BTreeMap<usize, Sample>>>,
}

impl Results {
    pub(crate) fn add(&mut self, row: &'static str, server: &str, round: usize, sample: Sample) {
        let Some(known) = ROWS.iter().find(|known| known.id == row) else {
            panic!("{row} is not a row of the report")
        };
        println!("{}: {}: {}", known.title, server, show(known.unit, &sample));
        let servers = self.samples.entry(row).or_default();
        servers.entry(server.to_owned()).or_default().insert(round, sample);
    }

    /// Adds an absolute figure.
    pub(crate) fn figure(&mut self, row: &'static str, server: &str, round: usize, figure: f64) {
        self.add(row, server, round, Sample { figure, cpu: None, utilization: None });
    }

    fn of<'a>(&'a self, row: &Row, server: &str) -> impl Iterator<Item = (usize, &'a Sample)> {
        let rounds = self.samples.get(row.id).and_then(|servers| servers.get(server));
        rounds.into_iter().flatten().map(|(round, sample)| (*round, sample))
    }

    /// The median figure of a server.
    pub(crate) fn median(&self, row: &Row, server: &str) -> Option<f64> {
        median(self.of(row, server).map(|(_, sample)| sample.figure))
    }

    /// The median CPU time per request, in seconds.
    pub(crate) fn cpu(&self, row: &Row, server: &str) -> Option<f64> {
        median(self.of(row, server).filter_map(|(_, sample)| sample.cpu))
    }

    /// The median over the rounds of a server's figure divided by another's in the same round,
    /// without the rounds in which one of the two did not have its core.
    pub(crate) fn ratio(&self, row: &Row, server: &str, other: &str) -> Option<f64> {
        median(self.of(row, server).filter_map(|(round, sample)| {
            let (_, other) = self.of(row, other).find(|(other, _)| *other == round)?;
            (!sample.is_void() && !other.is_void()).then(|| sample.figure / other.figure)
        }))
    }

    /// The value to which the limits of a row apply.
    pub(crate) fn judged(&self, row: &Row, server: &str) -> Option<f64> {
        match row.basis {
            Basis::Floor => self.ratio(row, server, FLOOR),
            Basis::Figure => self.median(row, server),
        }
    }

    pub(crate) fn mark(&self, row: &Row) -> Mark {
        match self.judged(row, A2A) {
            Some(figure) if row.goal.holds(figure) => Mark::Goal,
            Some(figure) if row.must.holds(figure) => Mark::Must,
            Some(_) => Mark::Missed,
            None if self.median(row, A2A).is_some() => Mark::Void,
            None => Mark::NotMeasured,
        }
    }

    /// Our advantage over a rival, as a factor; below 1 the rival leads.
    pub(crate) fn lead(&self, row: &Row, rival: &str) -> Option<f64> {
        let (ours, theirs) = (self.median(row, A2A)?, self.median(row, rival)?);
        match row.must {
            Limit::AtLeast(_) => Some(ours / theirs),
            Limit::AtMost(_) if ours == theirs => Some(1.0),
            Limit::AtMost(_) => Some(theirs / ours),
        }
    }

    /// Prints a line for each measured row, and returns whether all limits are met and no rival
    /// leads.
    pub(crate) fn print(&self, rivals: &[String], is_whole: bool) -> bool {
        println!();
        println!("{:<50} {:>12} {:>12} {:>7} {:>8} {:>8}", "", A2A, FLOOR, "ratio", "must", "goal");
        let mut counts = BTreeMap::new();
        let mut leaders = Vec::new();
        for row in ROWS.iter().filter(|row| is_whole || self.samples.contains_key(row.id)) {
            let mark = self.mark(row);
            *counts.entry(mark.text()).or_insert(0_usize) += 1;
            let figure = |server: &str| {
                self.median(row, server).map_or_else(String::new, |figure| text(row.unit, figure))
            };
            let ratio = match row.basis {
                Basis::Floor => self.judged(row, A2A).map(|ratio| format!("{ratio:.2}")),
                Basis::Figure => None,
            };
            println!(
                "{:<50} {:>12} {:>12} {:>7} {:>8} {:>8} {}",
                row.title,
                figure(A2A),
                figure(FLOOR),
                ratio.unwrap_or_default(),
                row.bound(row.must),
                row.bound(row.goal),
                mark.text(),
            );
            for rival in rivals {
                let Some(lead) = self.lead(row, rival) else { continue };
                println!("{:>50} {:>12} {lead:>20.2} times better", rival, figure(rival));
                if lead < 1.0 {
                    leaders.push(format!("{rival} leads: {}", row.title));
                }
            }
        }
        println!();
        leaders.iter().for_each(|leader| println!("{leader}"));
        let counts = counts.iter().map(|(mark, count)| format!("{count} {mark}"));
        println!("{}", counts.collect::<Vec<_>>().join(", "));
        let failed = [Mark::Missed, Mark::Void];
        let is_met = |row: &Row| !failed.contains(&self.mark(row));
        leaders.is_empty() && ROWS.iter().all(is_met)
    }
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

fn show(unit: Unit, sample: &Sample) -> String {
    let mut shown = text(unit, sample.figure);
    if let Some(cpu) = sample.cpu {
        shown += &format!(", {:.2} µs CPU each", cpu * 1e6);
    }
    if let Some(utilization) = sample.utilization {
        shown += &format!(", {:.0} % of its core", utilization * 100.0);
    }
    if sample.is_void() { shown + ": void" } else { shown }
}

/// The median; the mean of the two middle values of an even number.
fn median(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let (low, high) = (figures.get(figures.len().wrapping_sub(1) / 2)?, figures[figures.len() / 2]);
    Some(f64::midpoint(*low, high))
}
