use std::{collections::BTreeMap, time::Duration};

use super::{
    Fault, Violation,
    journal::{Cause, Did, Entry, Evidence, Outage},
};

/// How long leases last, as `a2a serve` sets them.
pub const LEASE: Duration = Duration::from_secs(10);
/// Time for a renewal that had passed a link before it stalled to be executed.
const EXECUTED: Duration = Duration::from_secs(1);
/// Time for the programs of a stopped server to end after it was resumed.
const RESUMED: Duration = Duration::from_secs(1);

/// What a journal says about executors that acted without a lease.
#[derive(Clone, Debug, Default)]
pub struct Fenced {
    /// What must not be.
    pub violations: Vec<Violation>,
    /// Side effects of programs whose server was stopped, and for a second after.
    pub ran_on: u64,
}

/// A run of an executor.
#[derive(Debug)]
struct Run<'a> {
    first: Duration,
    entries: Vec<&'a Entry>,
}

/// Judges a journal.
///
/// A run has lost its lease when another run of the task begins, or when a client sees that the task
/// has ended; with a stalled link, once [`LEASE`] has run out. What a run does after that is a
/// violation. Nothing can end the programs of a stopped server before it is resumed: their effects
/// until a second after that are counted apart, but nothing may begin.
pub fn fenced(entries: &[Entry], evidence: &Evidence) -> Fenced {
    let mut tasks = BTreeMap::<&str, BTreeMap<&str, Run<'_>>>::new();
    for entry in entries {
        let runs = tasks.entry(&entry.task).or_default();
        let new = || Run { first: entry.at, entries: Vec::new() };
        runs.entry(&entry.run).or_insert_with(new).entries.push(entry);
    }
    let mut fenced = Fenced::default();
    for (task, runs) in tasks {
        let mut runs: Vec<Run<'_>> = runs.into_values().collect();
        runs.sort_by_key(|run| run.first);
        let end = evidence.ends.get(task).copied();
        for (index, run) in runs.iter().enumerate() {
            let next = runs.get(index + 1).map(|next| next.first);
            let lost = next.into_iter().chain(end).min();
            for entry in &run.entries {
                fenced.judge(entry, lost, &evidence.outages);
            }
        }
        fenced.once(task, &runs);
    }
    fenced
}

impl Fenced {
    fn judge(&mut self, entry: &Entry, lost: Option<Duration>, outages: &[Outage]) {
        let outages = || outages.iter().filter(|outage| outage.node == entry.node);
        let Some(lost) = lost.filter(|lost| entry.at > *lost) else {
            let is_expired = |outage: &&Outage| {
                outage.cause == Cause::Stalled
                    && entry.at > outage.from + LEASE + EXECUTED
                    && entry.at <= outage.until
            };
            if let Some(outage) = outages().find(is_expired) {
                let detail = format!("{entry:?}, whose link stalled at {:?}", outage.from);
                self.violations.push((Fault::Effect, detail));
            }
            return;
        };
        // The lease was lost in the last stop that began before.
        let stops = outages().filter(|stop| stop.cause == Cause::Stopped && stop.from <= lost);
        let stop = stops.max_by_key(|stop| stop.from);
        let begins = entry.did != Did::Effect;
        let detail = format!("{entry:?}, which had lost its lease at {lost:?}");
        match stop {
            Some(stop) if entry.at <= stop.until => self.ran_on += 1,
            Some(_) if begins => self.violations.push((Fault::Begun, detail)),
            Some(stop) if entry.at <= stop.until.saturating_add(RESUMED) => self.ran_on += 1,
            _ => self.violations.push((Fault::Effect, detail)),
        }
    }

    /// A run that gets to the next `once` has stored the result of the one before.
    fn once(&mut self, task: &str, runs: &[Run<'_>]) {
        let number = |entry: &&&Entry| match entry.did {
            Did::Once(number) => Some(number),
            Did::Begin | Did::Effect => None,
        };
        for (index, run) in runs.iter().enumerate() {
            let mut last = None;
            let before = runs[..index].iter().flat_map(|run| &run.entries);
            // What an earlier run did later, it did without a lease.
            let before = before.filter(|entry| entry.at <= run.first);
            let stored = before.filter_map(|entry| number(&entry)).max();
            for once in run.entries.iter().filter_map(|entry| number(&entry)) {
                if stored.is_some_and(|stored| once < stored)
                    || last.is_some_and(|last| once <= last)
                {
                    let detail = format!("task {task}: once {once} after {last:?} and {stored:?}");
                    self.violations.push((Fault::OnceAgain, detail));
                }
                last = Some(once);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A journal with lines `SECONDS NODE RUN WHAT`, all of one task.
    fn journal(lines: &[&str]) -> Vec<Entry> {
        let lines: Vec<String> = lines
            .iter()
            .map(|line| {
                let words: Vec<&str> = line.splitn(4, ' ').collect();
                format!("{} {} {} t {}\n", words[0], words[1], words[2], words[3])
            })
            .collect();
        Entry::read(&lines.concat()).unwrap()
    }

    fn outage(cause: Cause, from: u64, until: u64) -> Outage {
        Outage { node: "n1".into(), cause, from: seconds(from), until: seconds(until) }
    }

    fn faults(lines: &[&str], end: Option<u64>, outages: Vec<Outage>) -> (Vec<Fault>, u64) {
        let ends = end.map(|end| ("t".to_owned(), seconds(end)));
        let evidence = Evidence { ends: ends.into_iter().collect(), outages };
        let fenced = fenced(&journal(lines), &evidence);
        (fenced.violations.into_iter().map(|(fault, _)| fault).collect(), fenced.ran_on)
    }

    #[test]
    fn run_that_ends_before_the_next_one_begins_is_right() {
        let lines = [
            "1 n1 a begin",
            "2 n1 a once 1",
            "3 n1 a effect",
            "4 n1 a once 2",
            "14 n2 b begin",
            "15 n2 b once 2",
            "16 n2 b effect",
        ];
        assert_eq!(faults(&lines, Some(17), vec![]), (vec![], 0));
    }

    #[test]
    fn effect_after_another_run_began_or_the_task_ended_is_a_violation() {
        let lines = ["1 n1 a begin", "12 n2 b begin", "13 n1 a effect", "14 n2 b effect"];
        assert_eq!(faults(&lines, None, vec![]), (vec![Fault::Effect], 0));
        let lines = ["1 n1 a begin", "13 n1 a effect", "14 n1 a effect"];
        assert_eq!(faults(&lines, Some(12), vec![]).0, [Fault::Effect, Fault::Effect]);
        let stalled = vec![outage(Cause::Stalled, 2, 30)];
        let faults = faults(&lines, Some(12), stalled);
        assert_eq!(faults.0, [Fault::Effect, Fault::Effect], "on a stalled link, too");
    }

    #[test]
    fn effect_on_a_stalled_link_after_the_lease_is_a_violation_without_a_takeover() {
        let stalled = || vec![outage(Cause::Stalled, 2, 30)];
        let lines = ["1 n1 a begin", "12 n1 a effect", "14 n1 a effect", "31 n1 a effect"];
        assert_eq!(faults(&lines, None, stalled()).0, [Fault::Effect]);
        let other = ["1 n2 a begin", "13 n2 a effect"];
        assert_eq!(faults(&other, None, stalled()).0, [], "of the other node");
    }

    #[test]
    fn effects_while_a_server_is_stopped_and_a_second_after_are_counted_apart() {
        let stopped = vec![outage(Cause::Stopped, 2, 20)];
        let lines = ["1 n1 a begin", "5 n1 a effect", "15 n1 a effect", "20.9 n1 a effect"];
        assert_eq!(faults(&lines, Some(12), stopped.clone()), (vec![], 2));
        let twice = vec![outage(Cause::Stopped, 0, 1), outage(Cause::Stopped, 2, 20)];
        assert_eq!(faults(&lines, Some(12), twice), (vec![], 2), "after an earlier stop");
        let later = ["1 n1 a begin", "21.5 n1 a effect"];
        assert_eq!(faults(&later, Some(12), stopped), (vec![Fault::Effect], 0));
    }

    #[test]
    fn program_and_once_that_begin_after_the_server_was_resumed_are_violations() {
        let stopped = vec![outage(Cause::Stopped, 2, 20)];
        let program = ["20.1 n1 a begin"];
        assert_eq!(faults(&program, Some(12), stopped.clone()), (vec![Fault::Begun], 0));
        let once = ["1 n1 a begin", "12 n2 b begin", "20.1 n1 a once 1"];
        assert_eq!(faults(&once, None, stopped.clone()), (vec![Fault::Begun], 0));
        // Its task was not taken over.
        assert_eq!(faults(&program, Some(30), stopped.clone()), (vec![], 0));
        // The stop came after the takeover, and explains nothing.
        let before = ["1 n1 a begin", "12 n2 b begin", "25 n1 a once 1"];
        let stopped = vec![outage(Cause::Stopped, 24, 40)];
        assert_eq!(faults(&before, None, stopped), (vec![Fault::Effect], 0));
    }

    #[test]
    fn once_whose_result_was_stored_must_not_run_again() {
        let again = ["1 n1 a once 1", "2 n1 a once 2", "13 n2 b once 1", "14 n2 b once 2"];
        assert_eq!(faults(&again, None, vec![]).0, [Fault::OnceAgain]);
        let last = ["1 n1 a once 1", "2 n1 a once 2", "13 n2 b once 2", "14 n2 b once 3"];
        assert_eq!(faults(&last, None, vec![]).0, [], "the result of the last one was not stored");
        let twice = ["1 n1 a once 1", "2 n1 a once 1"];
        assert_eq!(faults(&twice, None, vec![]).0, [Fault::OnceAgain]);
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let entry = |at, did| Entry {
            at: Duration::from_millis(at),
            node: "n1".into(),
            run: "r".into(),
            task: "t".into(),
            did,
        };
        let written =
            [entry(1_250, Did::Begin), entry(1_260, Did::Once(7)), entry(2_000, Did::Effect)];
        for entry in &written {
            entry.append(&path).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(Entry::read(&text).unwrap(), written);
        assert_eq!(
            Entry::read(&text[..text.len() - 3]).unwrap(),
            written[..2],
            "an unfinished line"
        );
        Entry::read("1.0 n1 r t sleep\n").unwrap_err();
    }
}
