//! The checked-in counts, and how those of a run differ from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use toml::{Table, Value};

/// Tolerated increase over the baseline, in percent.
const MAX_INCREASE: u64 = 3;

/// How to accept an increase.
const BLESS: &str = "if intended, run \"cargo xtask bench micro --bless\"";

/// The environment that counts depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) rustc: String,
    pub(super) target: String,
    pub(super) libc: String,
    /// Processor features by which the C library selects its memory functions.
    pub(super) cpu: String,
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rustc, target, libc, cpu } = self;
        write!(f, "rustc {rustc} for {target} with {libc} on a processor with {cpu}")
    }
}

/// Instructions by the name of the benchmark, and the toolchain of the counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Baseline {
    pub(super) toolchain: Toolchain,
    pub(super) counts: BTreeMap<String, u64>,
}

impl FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error| format!("{error}"))?;
        let field = |name| {
            let value = table.get(name).and_then(Value::as_str).map(str::to_owned);
            value.ok_or_else(|| format!("{name} is missing"))
        };
        let toolchain = Toolchain {
            rustc: field("rustc")?,
            target: field("target")?,
            libc: field("libc")?,
            cpu: field("cpu")?,
        };
        let counts = table.get("instructions").and_then(Value::as_table);
        let counts = counts.ok_or("[instructions] is missing")?.iter().map(|(name, count)| {
            let count = count.as_integer().and_then(|count| u64::try_from(count).ok());
            let count = count.ok_or_else(|| format!("{name} is not an instruction count"))?;
            Ok((name.clone(), count))
        });
        Ok(Self { toolchain, counts: counts.collect::<Result<_, String>>()? })
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Toolchain { rustc, target, libc, cpu } = &self.toolchain;
        writeln!(f, "# Instructions of each benchmark in `benches`.")?;
        writeln!(f, "# Written by `cargo xtask bench micro --bless`.\n")?;
        writeln!(f, "rustc = \"{rustc}\"\ntarget = \"{target}\"")?;
        writeln!(f, "libc = \"{libc}\"\ncpu = \"{cpu}\"\n")?;
        writeln!(f, "[instructions]")?;
        self.counts.iter().try_for_each(|(name, count)| writeln!(f, "\"{name}\" = {count}"))
    }
}

impl Baseline {
    /// Compares the counts of a run with these, for the wanted benchmarks.
    pub(super) fn compare(&self, now: &Self, is_wanted: impl Fn(&str) -> bool) -> Comparison {
        let names: BTreeSet<_> = self.counts.keys().chain(now.counts.keys()).collect();
        let rows = names.into_iter().filter(|name| is_wanted(name)).map(|name| Row {
            name: name.clone(),
            baseline: self.counts.get(name).copied(),
            now: now.counts.get(name).copied(),
        });
        let differs = self.toolchain != now.toolchain;
        let other = differs.then(|| (self.toolchain.clone(), now.toolchain.clone()));
        Comparison { rows: rows.collect(), other }
    }

    /// The new baseline: the counts of a run, and those of this one that the run excluded.
    pub(super) fn blessed(
        &self,
        now: Self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let kept = self.counts.iter().filter(|(name, _)| !is_wanted(name));
        let kept: BTreeMap<_, _> = kept.map(|(name, count)| (name.clone(), *count)).collect();
        if !kept.is_empty() && self.toolchain != now.toolchain {
            return Err(format!(
                "the other counts are from {}: bless all of them, without --only",
                self.toolchain
            ));
        }
        let mut blessed = now;
        blessed.counts.retain(|name, _| is_wanted(name));
        blessed.counts.extend(kept);
        Ok(blessed)
    }
}

/// The counts of a run and of the baseline. Displayed as a table.
#[derive(Debug)]
pub(super) struct Comparison {
    rows: Vec<Row>,
    /// The toolchains of the baseline and of the run, if they differ.
    other: Option<(Toolchain, Toolchain)>,
}

#[derive(Debug)]
struct Row {
    name: String,
    baseline: Option<u64>,
    now: Option<u64>,
}

impl Row {
    /// Increase over the baseline, in percent.
    fn increase(&self) -> Option<f64> {
        let (baseline, now) = self.baseline.zip(self.now)?;
        #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
        let ratio = now as f64 / baseline as f64;
        Some((ratio - 1.0) * 100.0)
    }

    fn is_slower(&self) -> bool {
        let counts = self.baseline.zip(self.now);
        counts.is_some_and(|(baseline, now)| now * 100 > baseline * (100 + MAX_INCREASE))
    }
}

impl Comparison {
    /// Fails if a count is too high, or if the benchmarks differ from those of the baseline.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let mut faults = Vec::new();
        let mut fault = |what: &str, is_at_fault: fn(&Row) -> bool| {
            let rows = self.rows.iter().filter(|row| is_at_fault(row));
            let names: Vec<_> = rows.map(|row| row.name.as_str()).collect();
            if !names.is_empty() {
                faults.push(format!("{what}: {}", names.join(", ")));
            }
        };
        fault("not in the baseline", |row| row.baseline.is_none());
        fault("in the baseline only", |row| row.now.is_none());
        if self.other.is_none() {
            let slower = format!("over {MAX_INCREASE} % more instructions than in the baseline");
            fault(&slower, Row::is_slower);
        }
        if self.rows.is_empty() {
            return Err("--only: no matching benchmark".to_owned());
        }
        if faults.is_empty() { Ok(()) } else { Err(format!("{}; {BLESS}", faults.join("; "))) }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
        writeln!(f, "{:width$} {:>12} {:>12} {:>10}", "name", "baseline", "now", "change")?;
        for row in &self.rows {
            let count = |count: Option<u64>| count.map_or("-".to_owned(), |n| n.to_string());
            let change = row.increase().map_or("-".to_owned(), |change| format!("{change:+.2} %"));
            let (baseline, now) = (count(row.baseline), count(row.now));
            writeln!(f, "{:width$} {baseline:>12} {now:>12} {change:>10}", row.name)?;
        }
        if let Some((baseline, now)) = &self.other {
            writeln!(f, "NOT COMPARED: the baseline is from {baseline}, this run is from {now}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rustc: &str, counts: &[(&str, u64)]) -> Baseline {
        let toolchain = Toolchain { rustc: rustc.to_owned(), ..Toolchain::default() };
        let counts = counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Baseline { toolchain, counts }
    }

    #[test]
    fn baseline_round_trips() {
        let baseline = counts("1.95.0", &[("codec::decode::request", 7), ("log::push::full", 9)]);
        assert_eq!(baseline.to_string().parse(), Ok(baseline));
    }

    #[test]
    fn excessive_counts_and_unknown_names_are_errors() {
        let baseline = counts("1", &[("a", 1_000)]);
        for (now, fault) in [
            (counts("1", &[("a", 1_030)]), None),
            (counts("1", &[("a", 10)]), None),
            (counts("1", &[("a", 1_031)]), Some("over 3 % more instructions")),
            (counts("2", &[("a", 1_031)]), None),
            (counts("1", &[("a", 1_000), ("b", 1)]), Some("not in the baseline: b")),
            (counts("2", &[]), Some("in the baseline only: a")),
        ] {
            let verdict = baseline.compare(&now, |_| true).verdict();
            let error = verdict.err().unwrap_or_default();
            assert_eq!(error.is_empty(), fault.is_none(), "{now:?}: {error}");
            assert!(error.contains(fault.unwrap_or_default()), "{now:?}: {error}");
        }
    }

    #[test]
    fn another_toolchain_is_reported() {
        let comparison = counts("1", &[("a", 1)]).compare(&counts("2", &[("a", 1)]), |_| true);
        assert!(comparison.to_string().contains("NOT COMPARED: the baseline is from rustc 1 "));
    }

    #[test]
    fn blessing_some_counts_keeps_the_others() {
        let baseline = counts("1", &[("a", 1), ("b", 1), ("b2", 1)]);
        let is_wanted = |name: &str| name.contains('b');
        let blessed = baseline.blessed(counts("1", &[("b", 2)]), is_wanted);
        assert_eq!(blessed, Ok(counts("1", &[("a", 1), ("b", 2)])));
        assert!(baseline.blessed(counts("2", &[("b", 2)]), is_wanted).is_err());
    }
}
