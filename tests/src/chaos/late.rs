use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
    time::{Duration, Instant},
};

use super::{
    Record, Seen,
    event::{is_interrupted, is_terminal},
};

/// Time within which everything happens while nodes and links are in order, whatever else fails:
/// enough for debug builds on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Something that took too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// The begin and the end, since the start of the history.
    pub(super) from: Duration,
    pub(super) until: Duration,
    pub(super) detail: String,
}

/// What took longer than the limit: the next event of a task that works, an event on an open stream
/// after another stream had it, and answers to messages and cancels.
pub(super) fn late(records: &[Record]) -> Vec<Late> {
    let mut late = Vec::new();
    let mut add = |from: Duration, until: Duration, detail: String| {
        if until.saturating_sub(from) > LIMIT {
            late.push(Late { from, until, detail });
        }
    };
    // When each event was first seen, and whether the task then waits for its client.
    let mut first = BTreeMap::<u64, (Duration, bool)>::new();
    for record in records {
        let Seen::Event { position, data, .. } = &record.seen else { continue };
        let waits = is_interrupted(data) || is_terminal(data);
        first.entry(*position).or_insert((record.answered, waits));
    }
    for ((before, (from, waits)), (position, (until, _))) in first.iter().zip(first.iter().skip(1))
    {
        if !waits {
            add(*from, *until, format!("event {position} after {before}"));
        }
    }
    let mut opened = HashMap::new();
    for record in records {
        match &record.seen {
            Seen::Opened { stream, .. } => {
                opened.insert(*stream, record.answered);
            }
            Seen::Event { stream, position, .. } => {
                let since = opened.get(stream).copied().unwrap_or(record.answered);
                let seen = first.get(position).map_or(record.answered, |(seen, _)| *seen);
                let detail = format!("event {position} on stream {stream}, after another had it");
                add(seen.max(since), record.answered, detail);
            }
            Seen::Accepted(text) => {
                add(record.asked, record.answered, format!("the answer to message {text:?}"));
            }
            Seen::Canceled => add(record.asked, record.answered, "the answer to a cancel".into()),
            _ => {}
        }
    }
    late
}

/// The times in which nodes or links are out of order, which excuses delays.
#[derive(Debug, Default)]
pub(super) struct Disturbances(Mutex<Vec<(Instant, Option<Instant>)>>);

impl Disturbances {
    pub(super) fn begin(&self) {
        self.0.lock().expect("no panic while locked").push((Instant::now(), None));
    }

    /// Ends the last one, this time from now.
    pub(super) fn end(&self, after: Duration) {
        let mut times = self.0.lock().expect("no panic while locked");
        if let Some((_, until)) = times.last_mut() {
            *until = Some(Instant::now() + after);
        }
    }

    /// How much of a time is outside of them.
    pub(super) fn rest(&self, from: Instant, until: Instant) -> Duration {
        let mut times = self.0.lock().expect("no panic while locked").clone();
        times.sort_unstable_by_key(|(begin, _)| *begin);
        let (mut rest, mut now) = (Duration::ZERO, from);
        for (begin, end) in times {
            rest += begin.min(until).saturating_duration_since(now);
            now = now.max(end.unwrap_or(until));
        }
        rest + until.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{
        super::fold::events::{chunk, submitted, update},
        *,
    };

    fn record(asked: u64, answered: u64, seen: Seen) -> Record {
        let (asked, answered) = (Duration::from_secs(asked), Duration::from_secs(answered));
        Record { asked, answered, seen }
    }

    fn event(at: u64, stream: u64, position: u64, data: Value) -> Record {
        record(0, at, Seen::Event { stream, position, data })
    }

    fn times(records: &[Record]) -> Vec<(u64, u64)> {
        let late = late(records);
        late.iter().map(|late| (late.from.as_secs(), late.until.as_secs())).collect()
    }

    #[test]
    fn next_event_of_a_working_task_is_late_and_that_of_a_question_is_not() {
        let records = |state| {
            [
                event(1, 1, 1, submitted()),
                event(2, 1, 2, update(state, 1)),
                event(30, 1, 3, update("COMPLETED", 2)),
            ]
        };
        assert_eq!(times(&records("WORKING")), [(2, 30)]);
        assert_eq!(times(&records("INPUT_REQUIRED")), []);
    }

    #[test]
    fn open_stream_that_gets_an_event_long_after_another_one_is_late() {
        let opened =
            |at, stream| record(at, at, Seen::Opened { stream, after: Some(1), is_send: false });
        let records = |opens| {
            [
                opened(1, 1),
                event(2, 1, 2, chunk("x", false)),
                opened(opens, 2),
                event(20, 2, 2, chunk("x", false)),
            ]
        };
        assert_eq!(times(&records(1)), [(2, 20)]);
        assert_eq!(times(&records(5)), [(5, 20)]);
        assert_eq!(times(&records(15)), [], "it was opened later");
    }

    #[test]
    fn answers_to_messages_and_cancels_are_late() {
        let accepted = || Seen::Accepted("m".into());
        let records =
            [record(0, 5, accepted()), record(0, 12, accepted()), record(20, 40, Seen::Canceled)];
        assert_eq!(times(&records), [(0, 12), (20, 40)]);
    }

    #[test]
    fn time_outside_of_disturbances_is_what_counts() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let times = |times: &[(u64, Option<u64>)]| {
            let times = times.iter().map(|(begin, end)| (at(*begin), end.map(at)));
            Disturbances(Mutex::new(times.collect()))
        };
        let rest = |all: &[_], from, until| times(all).rest(at(from), at(until)).as_secs();
        assert_eq!(rest(&[], 3, 30), 27);
        assert_eq!(rest(&[(5, Some(9))], 3, 30), 23);
        assert_eq!(rest(&[(1, Some(9))], 3, 30), 21);
        assert_eq!(rest(&[(1, Some(9))], 10, 30), 20);
        assert_eq!(rest(&[(5, None)], 3, 30), 2, "it goes on");
        assert_eq!(rest(&[(40, None)], 3, 30), 27, "it came later");
        assert_eq!(rest(&[(5, Some(20)), (10, Some(15)), (25, Some(26))], 3, 30), 11);
    }
}
