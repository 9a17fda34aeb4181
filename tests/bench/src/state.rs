//! The results of a machine, over the runs that repeat rows.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use a2a_core::well_known::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    report::Results,
    rows::Row,
    server::{A2A, Program},
};

/// The results of a whole run, and of later ones that repeated some rows.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct State {
    /// The processor, the cores and the kernel.
    pub(crate) machine: String,
    /// The day of the last run.
    pub(crate) date: String,
    /// Versions by name: ours, that of the compiler, and those of rivals.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) rivals: Vec<String>,
    /// Whether each row was met, by id, for each run.
    runs: Vec<BTreeMap<String, bool>>,
    pub(crate) results: Results,
}

impl State {
    /// The state after one run of these rows.
    pub(crate) fn new(results: Results, rows: &[&Row], rivals: &[Program]) -> Self {
        let names: Vec<_> = rivals.iter().map(|rival| rival.name.clone()).collect();
        let mut versions = BTreeMap::from([
            (A2A.to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("rustc".to_owned(), rustc().unwrap_or_else(|| "of unknown version".to_owned())),
        ]);
        for rival in rivals {
            let version = rival.version.clone();
            let version = version.unwrap_or_else(|| "of unknown version".to_owned());
            versions.insert(rival.name.clone(), version);
        }
        let run = rows.iter().filter_map(|row| {
            let is_met = results.is_met(row, &names)?;
            Some((row.id.to_owned(), is_met))
        });
        let runs = vec![run.collect()];
        let date = Timestamp::now().to_string().chars().take(10).collect();
        Self { machine: machine(), date, versions, rivals: names, runs, results }
    }

    /// The state that was written to a file, if it is of this machine.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let state: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (state.machine == machine()).then_some(state)
    }

    /// This state, and what a later run found.
    pub(crate) fn with(mut self, later: Self) -> Self {
        self.results.append(later.results);
        self.runs.extend(later.runs);
        self.versions.extend(later.versions);
        let unknown = later.rivals.into_iter().filter(|rival| !self.rivals.contains(rival));
        let unknown: Vec<_> = unknown.collect();
        self.rivals.extend(unknown);
        Self { date: later.date, ..self }
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        // A line for each case, so that changes can be read.
        let text = text.replace("}},\"", "}},\n\"");
        write(path, &format!("{text}\n"))
    }

    /// In how many runs a row was met, and in how many it was measured.
    fn counts(&self, row: &Row) -> (usize, usize) {
        let runs: Vec<_> = self.runs.iter().filter_map(|run| run.get(row.id)).collect();
        (runs.iter().filter(|is_met| ***is_met).count(), runs.len())
    }

    /// Whether a row was met in two of three runs.
    pub(crate) fn is_met(&self, row: &Row) -> bool {
        let (met, runs) = self.counts(row);
        3 * met >= 2 * runs
    }

    /// How often a row was met, if it was repeated.
    pub(crate) fn tally(&self, row: &Row) -> String {
        match self.counts(row) {
            (_, 0 | 1) => String::new(),
            (met, runs) => format!(", met {met} of {runs}"),
        }
    }
}

/// The results of all machines in a directory; this machine first.
pub(crate) fn all(folder: &Path) -> Result<Vec<State>> {
    let mut states = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let state: State = serde_json::from_slice(&text)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        states.push(state);
    }
    let own = machine();
    states.sort_by_key(|state: &State| (state.machine != own, state.machine.clone()));
    Ok(states)
}

/// The name of the file of a machine: its processor.
pub(crate) fn file_name(machine: &str) -> String {
    let processor = machine.split(',').next().unwrap_or_default().to_lowercase();
    let words = processor.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    format!("{}.json", words.join("-"))
}

/// The processor, the cores and the kernel.
fn machine() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model);
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cores} cores, Linux {}", kernel.trim())
}

fn rustc() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split_whitespace().nth(1)?.to_owned())
}

/// Writes a file, and says so.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::FLOOR;

    fn run(row: &'static Row, ours: f64) -> State {
        let mut results = Results::default();
        results.figure(row.case, A2A, 1, ours);
        results.figure(row.case, FLOOR, 1, 1.0);
        State::new(results, &[row], &[])
    }

    #[test]
    fn row_is_met_if_two_of_three_runs_met_it() {
        let row = Row::known("start").unwrap();
        let state = run(row, 2.0);
        assert!(!state.is_met(row));
        assert_eq!(state.tally(row), "");
        let state = state.with(run(row, 1.4));
        assert!(!state.is_met(row), "one of two is undecided");
        let state = state.with(run(row, 1.2));
        assert!(state.is_met(row));
        assert_eq!(state.tally(row), ", met 2 of 3");
        assert_eq!(state.results.judged(row, A2A), Some(1.4));
        assert!(state.is_met(Row::known("burst").unwrap()), "it was not measured");
    }

    #[test]
    fn written_results_are_read_again_and_beside_those_of_other_machines() {
        let folder = tempfile::tempdir().unwrap();
        let row = Row::known("start").unwrap();
        let own = run(row, 1.234_567);
        let other = State { machine: "Other CPU @ 2, 8 cores, Linux 1".into(), ..run(row, 1.0) };
        for state in [&other, &own] {
            state.write(&folder.path().join(file_name(&state.machine))).unwrap();
        }
        assert!(folder.path().join("other-cpu-2.json").exists());
        let states = all(folder.path()).unwrap();
        assert_eq!(states.len(), 2);
        assert_eq!([&states[0].machine, &states[1].machine], [&own.machine, &other.machine]);
        assert_eq!(states[0].results.judged(row, A2A), Some(1.2346));
        assert!(State::read(&folder.path().join("other-cpu-2.json")).is_none());
    }
}
