//! The measured figures, and whether they are within their limits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::rows::{Limit, Quantity, ROWS, Row, Unit, text};

/// The result of a comparison with the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Goal,
    Must,
    Missed,
    /// The load did not keep the servers busy in any round.
    Void,
    /// Measured, without a limit.
    Unlimited,
    NotMeasured,
}

impl Mark {
    /// Its text; in parentheses if missing the limit has no consequence.
    pub(crate) fn text(self, row: &Row) -> &'static str {
        match (self, row.is_binding) {
            (Self::Goal, true) => "goal",
            (Self::Goal, false) => "(goal)",
            (Self::Must, true) => "must",
            (Self::Must, false) => "(must)",
            (Self::Missed, true) => "MISSED",
            (Self::Missed, false) => "(missed)",
            (Self::Void, true) => "VOID",
            (Self::Void, false) => "(void)",
            (Self::Unlimited, _) => "",
            (Self::NotMeasured, _) => "not measured",
        }
    }
}

/// One measurement of one server.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(from = "Columns", into = "Columns")]
pub(crate) struct Sample {
    pub(crate) figure: f64,
    /// CPU time per request or event, in seconds.
    pub(crate) cpu: Option<f64>,
    /// The share of the time in which the server had its core, if relevant.
    pub(crate) utilization: Option<f64>,
}

/// A sample as it is stored, with five significant digits.
type Columns = (f64, Option<f64>, Option<f64>);

impl From<Columns> for Sample {
    fn from((figure, cpu, utilization): Columns) -> Self {
        Self { figure, cpu, utilization }
    }
}

impl From<Sample> for Columns {
    fn from(sample: Sample) -> Self {
        let rounded = |figure: f64| format!("{figure:.4e}").parse().unwrap_or(figure);
        (rounded(sample.figure), sample.cpu.map(rounded), sample.utilization.map(rounded))
    }
}

/// Below this share, other processes or the load generator were measured instead.
pub(crate) const MIN_UTILIZATION: f64 = 0.95;

impl Sample {
    fn is_void(&self) -> bool {
        self.utilization.is_some_and(|utilization| utilization < MIN_UTILIZATION)
    }
}

/// A figure of a round, and whether it is void.
struct Figure {
    round: usize,
    figure: f64,
    is_void: bool,
}

/// Every measurement: by case, by server, by round.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Results {
    samples: BTreeMap<String, BTreeMap<String, BTreeMap<usize, Sample>>>,
    /// The cases to measure, if not all.
    #[serde(skip)]
    only: Option<BTreeSet<&'static str>>,
}

impl Results {
    /// For some cases; others are not kept.
    pub(crate) fn only(cases: BTreeSet<&'static str>) -> Self {
        Self { samples: BTreeMap::new(), only: Some(cases) }
    }

    /// Whether a case is to be measured.
    pub(crate) fn wants(&self, case: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(case))
    }

    pub(crate) fn add(&mut self, case: &'static str, server: &str, round: usize, sample: Sample) {
        let Some(row) = ROWS.iter().find(|row| row.case == case) else {
            panic!("{case} is not in the report")
        };
        if !self.wants(case) {
            return;
        }
        // The title of a row of another basis says no less.
        println!("{}: {server}: {}", row.title, show(row.unit, &sample));
        let servers = self.samples.entry(case.to_owned()).or_default();
        servers.entry(server.to_owned()).or_default().insert(round, sample);
    }

    /// Adds an absolute figure.
    pub(crate) fn figure(&mut self, case: &'static str, server: &str, round: usize, figure: f64) {
        self.add(case, server, round, Sample { figure, cpu: None, utilization: None });
    }

    /// Adds the rounds of a later run.
    pub(crate) fn append(&mut self, later: Self) {
        let rounds = self.samples.values().flat_map(BTreeMap::values).flat_map(BTreeMap::keys);
        let last = rounds.max().copied().unwrap_or_default();
        for (case, servers) in later.samples {
            for (server, rounds) in servers {
                let known = self.samples.entry(case.clone()).or_default().entry(server);
                known
                    .or_default()
                    .extend(rounds.into_iter().map(|(no, sample)| (last + no, sample)));
            }
        }
    }

    fn of(&self, row: &Row, server: &str) -> impl Iterator<Item = Figure> {
        let rounds = self.samples.get(row.case).and_then(|servers| servers.get(server));
        let quantity = row.quantity;
        rounds.into_iter().flatten().filter_map(move |(round, sample)| {
            let (figure, is_void) = match quantity {
                Quantity::Figure => (sample.figure, sample.is_void()),
                // It hardly depends on how much of the core the server had.
                Quantity::Cpu => (sample.cpu?, false),
            };
            Some(Figure { round: *round, figure, is_void })
        })
    }

    /// The median figure of a server.
    pub(crate) fn median(&self, row: &Row, server: &str) -> Option<f64> {
        median(self.of(row, server).map(|figure| figure.figure))
    }

    /// The median CPU time per request, in seconds.
    pub(crate) fn cpu(&self, row: &Row, server: &str) -> Option<f64> {
        let rounds = self.samples.get(row.case)?.get(server)?;
        median(rounds.values().filter_map(|sample| sample.cpu))
    }

    /// The median over the rounds of a server's figure divided by another's in the same round,
    /// without the rounds in which one of the two did not have its core.
    fn ratio(&self, row: &Row, server: &str, other: &str) -> Option<f64> {
        median(self.of(row, server).filter_map(|figure| {
            let other = self.of(row, other).find(|other| other.round == figure.round)?;
            (!figure.is_void && !other.is_void).then(|| figure.figure / other.figure)
        }))
    }

    /// The value to which the limits of a row apply.
    pub(crate) fn judged(&self, row: &Row, server: &str) -> Option<f64> {
        match row.basis {
            Some(basis) => self.ratio(row, server, basis),
            None => self.median(row, server),
        }
    }

    fn holds(&self, row: &Row, limit: Limit, judged: f64) -> Option<bool> {
        match limit {
            Limit::AtLeast(bound) => Some(judged >= bound),
            Limit::AtMost(bound) => Some(judged <= bound),
            Limit::AheadOf(rival) => self.lead(row, rival).map(|lead| lead >= 1.0),
            Limit::None => None,
        }
    }

    pub(crate) fn mark(&self, row: &Row) -> Mark {
        let Some(judged) = self.judged(row, row.subject) else {
            let is_measured = self.median(row, row.subject).is_some();
            return if is_measured { Mark::Void } else { Mark::NotMeasured };
        };
        match (self.holds(row, row.must, judged), self.holds(row, row.goal, judged)) {
            (Some(false), _) => Mark::Missed,
            (_, Some(true)) => Mark::Goal,
            (Some(true), _) => Mark::Must,
            (None, _) => Mark::Unlimited,
        }
    }

    /// Our advantage over a rival, as a factor; below 1 the rival leads.
    pub(crate) fn lead(&self, row: &Row, rival: &str) -> Option<f64> {
        let (ours, theirs) = (self.median(row, row.subject)?, self.median(row, rival)?);
        if ours == theirs {
            return Some(1.0);
        }
        let ratio = self.ratio(row, row.subject, rival).unwrap_or(ours / theirs);
        Some(if row.is_rate() { ratio } else { 1.0 / ratio })
    }

    /// The rivals that lead.
    pub(crate) fn leaders<'a>(&self, row: &Row, rivals: &'a [String]) -> Vec<&'a str> {
        let leads = |rival: &&str| self.lead(row, rival).is_some_and(|lead| lead < 1.0);
        rivals.iter().map(String::as_str).filter(|_| row.is_contest).filter(leads).collect()
    }

    /// Whether a row is met, and no rival leads; `None` if it was not measured.
    pub(crate) fn is_met(&self, row: &Row, rivals: &[String]) -> Option<bool> {
        let mark = self.mark(row);
        let is_missed = row.is_binding && matches!(mark, Mark::Missed | Mark::Void);
        (mark != Mark::NotMeasured).then(|| !is_missed && self.leaders(row, rivals).is_empty())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{A2A, FLOOR};

    fn rate(figure: f64, utilization: f64) -> Sample {
        Sample { figure, cpu: Some(1e6 / figure), utilization: Some(utilization) }
    }

    fn row(id: &str) -> &'static Row {
        Row::known(id).unwrap()
    }

    #[test]
    fn round_without_a_core_counts_for_no_rate_but_for_cpu_time() {
        let mut results = Results::default();
        for (round, ours, utilization) in [(1, 60.0, 1.0), (2, 20.0, 0.5), (3, 50.0, 0.97)] {
            results.add("send.rest.16", A2A, round, rate(ours, utilization));
            results.add("send.rest.16", FLOOR, round, rate(100.0, 1.0));
        }
        assert_eq!(results.judged(row("send.rest.16"), A2A), Some(0.55));
        assert_eq!(results.judged(row("cpu.rest.16"), A2A), Some(2.0));
        assert_eq!(results.mark(row("cpu.rest.16")), Mark::Must);
    }

    #[test]
    fn rival_that_leads_misses_a_row_that_is_only_reported() {
        let mut results = Results::default();
        results.add("send.rest.16", A2A, 1, rate(30.0, 1.0));
        results.add("send.rest.16", FLOOR, 1, rate(100.0, 1.0));
        let row = row("send.rest.16");
        assert_eq!(results.mark(row).text(row), "(missed)");
        assert_eq!(results.is_met(row, &["other".into()]), Some(true));
        results.add("send.rest.16", "other", 1, rate(31.0, 1.0));
        assert_eq!(results.is_met(row, &["other".into()]), Some(false));
    }

    #[test]
    fn limit_of_a_rival_needs_the_rival() {
        let mut results = Results::default();
        results.add("send.grpc.64", A2A, 1, rate(70.0, 1.0));
        results.add("send.grpc.64", FLOOR, 1, rate(100.0, 1.0));
        let row = row("send.grpc.64");
        assert_eq!(results.mark(row), Mark::Unlimited);
        for (theirs, mark) in [(69.0, Mark::Must), (71.0, Mark::Missed)] {
            results.add("send.grpc.64", "a2a-lf", 1, rate(theirs, 1.0));
            assert_eq!(results.mark(row), mark, "{theirs}");
        }
    }

    #[test]
    fn cases_that_are_not_wanted_are_not_kept() {
        let mut results = Results::only(BTreeSet::from(["burst"]));
        results.figure("burst", A2A, 1, 0.0);
        results.figure("growth", A2A, 1, 0.001);
        assert_eq!(results.median(row("burst"), A2A), Some(0.0));
        assert_eq!(results.median(row("growth"), A2A), None);
    }
}
