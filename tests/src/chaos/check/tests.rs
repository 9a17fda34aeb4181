use serde_json::json;

use super::{
    super::fold::events::{chunk, status, submitted, task, update},
    *,
};

/// A history that is written down answer by answer, with a millisecond for each.
#[derive(Clone, Debug, Default)]
struct Script {
    now: u64,
    records: Vec<Record>,
}

impl Script {
    fn add(&mut self, seen: Seen) {
        let asked = self.now;
        self.add_asked(asked, seen);
    }

    /// An answer to a question of an earlier time.
    fn add_asked(&mut self, asked: u64, seen: Seen) {
        self.now += 1;
        let answered = Duration::from_millis(self.now);
        self.now += 1;
        self.records.push(Record { asked: Duration::from_millis(asked), answered, seen });
    }

    fn stream(&mut self, stream: u64, after: Option<u64>, is_send: bool) {
        self.add(Seen::Opened { stream, after, is_send });
    }

    fn event(&mut self, stream: u64, position: u64, data: Value) {
        self.add(Seen::Event { stream, position, data });
    }

    fn read(&mut self, task: Value) {
        self.add(Seen::Task { task, has_history: true });
    }

    fn faults(&self, end: &Value) -> Vec<Fault> {
        violations(&self.records, end).into_iter().map(|(fault, _)| fault).collect()
    }
}

fn message(text: &str) -> Value {
    json!({ "messageId": "same", "role": "ROLE_USER", "parts": [{ "text": text }] })
}

/// The events of a task that works, adds two chunks and completes.
fn log() -> Vec<Value> {
    vec![
        submitted(),
        update("WORKING", 1),
        chunk("x", false),
        chunk("y", true),
        update("COMPLETED", 2),
    ]
}

/// The task after a position.
fn at(position: u64) -> Value {
    let mut task = match position {
        1 => task(&status("SUBMITTED", 0), &[]),
        2 => task(&status("WORKING", 1), &[]),
        3 => task(&status("WORKING", 1), &["x"]),
        4 => task(&status("WORKING", 1), &["x", "y"]),
        _ => task(&status("COMPLETED", 2), &["x", "y"]),
    };
    task["history"] = json!([message("m1")]);
    task
}

/// Streams the whole log to a client that asked before everything else.
fn streamed(script: &mut Script, stream: u64) {
    script.add_asked(0, Seen::Opened { stream, after: None, is_send: true });
    for (position, data) in (1..).zip(log()) {
        script.add_asked(0, Seen::Event { stream, position, data });
        if position == 1 {
            script.add(Seen::Accepted("m1".into()));
        }
    }
    script.add(Seen::Ended { stream });
}

/// A history in which everything is right.
fn good() -> Script {
    let mut script = Script::default();
    script.stream(1, None, true);
    script.event(1, 1, submitted());
    script.add(Seen::Accepted("m1".into()));
    script.read(at(1));
    script.event(1, 2, update("WORKING", 1));
    script.read(at(2));
    script.stream(2, None, false);
    script.event(2, 3, json!({ "task": at(3) }));
    script.event(1, 3, chunk("x", false));
    script.event(1, 4, chunk("y", true));
    script.event(2, 4, chunk("y", true));
    script.event(1, 5, update("COMPLETED", 2));
    script.add(Seen::Ended { stream: 1 });
    // The other stream was cut, and is resumed.
    script.stream(3, Some(4), false);
    script.event(3, 5, update("COMPLETED", 2));
    script.add(Seen::Ended { stream: 3 });
    script.add(Seen::EndedAfter(5));
    script.read(at(5));
    script
}

#[test]
fn good_history_has_no_violations() {
    assert_eq!(violations(&good().records, &at(5)), []);
}

#[test]
fn every_event_that_is_left_out_repeated_or_changed_is_noticed() {
    let good = good();
    for (index, record) in good.records.iter().enumerate() {
        let Seen::Event { stream, position, data } = &record.seen else { continue };
        let mut twice = good.clone();
        twice.records.insert(index + 1, record.clone());
        assert_eq!(twice.faults(&at(5)), [Fault::Repeated], "event {position} of {stream}");
        let mut without = good.clone();
        without.records.remove(index);
        let faults = without.faults(&at(5));
        // The first event may be unknown, as it may have been in a response that was lost; the
        // last one of a stream that was cut may have been lost on the way.
        let may_be_missing = matches!((*stream, *position), (1, 1) | (2, 4));
        assert!(!faults.is_empty() || may_be_missing, "event {position} of {stream}");
        let mut changed = good.clone();
        let mut data = data.clone();
        if data["task"].is_object() {
            data["task"]["status"]["timestamp"] = json!(99);
        } else if data["statusUpdate"].is_object() {
            data["statusUpdate"]["status"]["timestamp"] = json!(99);
        } else {
            data["artifactUpdate"]["artifact"]["parts"] = json!([{ "text": "other" }]);
        }
        let (stream, position) = (*stream, *position);
        changed.records[index].seen = Seen::Event { stream, position, data };
        let faults = changed.faults(&at(5));
        assert!(!faults.is_empty(), "event {position} of {stream}");
    }
}

#[test]
fn gap_is_an_event_behind_the_next_one() {
    let mut script = Script::default();
    streamed(&mut script, 1);
    script.stream(2, Some(1), false);
    script.event(2, 2, update("WORKING", 1));
    script.event(2, 4, chunk("y", true));
    assert_eq!(script.faults(&at(5)), [Fault::Gap]);
}

#[test]
fn resumed_stream_that_begins_too_late_has_a_gap_and_too_early_a_repetition() {
    for (first, data, fault) in [
        (4, chunk("y", true), Fault::Gap),
        (2, update("WORKING", 1), Fault::Repeated),
        (1, submitted(), Fault::Repeated),
    ] {
        let mut script = Script::default();
        streamed(&mut script, 1);
        script.stream(2, Some(2), false);
        script.event(2, first, data);
        assert_eq!(script.faults(&at(5)), [fault], "{first}");
    }
}

#[test]
fn event_that_was_skipped_and_comes_late_is_out_of_order() {
    let mut script = Script::default();
    streamed(&mut script, 1);
    script.stream(2, Some(1), false);
    script.event(2, 3, chunk("x", false));
    script.event(2, 2, update("WORKING", 1));
    assert_eq!(script.faults(&at(5)), [Fault::Gap, Fault::Reordered]);
}

#[test]
fn readers_with_different_events_at_a_position_are_noticed() {
    let mut script = Script::default();
    streamed(&mut script, 1);
    script.stream(2, Some(2), false);
    script.event(2, 3, chunk("z", false));
    assert_eq!(script.faults(&at(5)), [Fault::Differs]);
}

#[test]
fn task_that_is_no_sum_of_events_is_noticed() {
    for wrong in [
        task(&status("WORKING", 1), &["y"]),
        task(&status("WORKING", 7), &[]),
        task(&status("COMPLETED", 2), &["x"]),
        task(&status("SUBMITTED", 0), &["x"]),
    ] {
        let mut script = good();
        script.read(wrong.clone());
        assert!(script.faults(&at(5)).contains(&Fault::Snapshot), "{wrong}");
        let mut script = good();
        script.stream(9, None, false);
        script.event(9, 5, json!({ "task": wrong }));
        assert!(script.faults(&at(5)).contains(&Fault::Snapshot), "{wrong}");
    }
}

#[test]
fn snapshot_of_another_position_than_that_of_its_stream_is_noticed() {
    let mut script = Script::default();
    script.stream(2, None, false);
    script.event(2, 4, json!({ "task": at(3) }));
    streamed(&mut script, 1);
    assert_eq!(script.faults(&at(5)), [Fault::Snapshot]);
}

#[test]
fn subscription_without_a_task_at_its_start_is_noticed() {
    let mut script = Script::default();
    streamed(&mut script, 1);
    script.stream(2, None, false);
    script.event(2, 5, update("COMPLETED", 2));
    assert_eq!(script.faults(&at(5)), [Fault::Snapshot]);
}

#[test]
fn answer_older_than_an_event_of_another_client_is_stale() {
    for older in 1..=4 {
        let mut script = good();
        script.read(at(older));
        assert_eq!(script.faults(&at(5)), [Fault::Stale], "{older}");
    }
}

#[test]
fn answer_to_a_question_that_was_sent_before_the_event_is_not_stale() {
    let mut script = good();
    script.add_asked(0, Seen::Task { task: at(1), has_history: true });
    assert_eq!(script.faults(&at(5)), []);
}

#[test]
fn answer_older_than_another_answer_is_stale() {
    let mut script = Script::default();
    script.read(at(3));
    script.read(at(2));
    streamed(&mut script, 1);
    assert_eq!(script.faults(&at(5)), [Fault::Stale]);
}

#[test]
fn snapshot_of_a_new_stream_is_stale_if_a_later_state_was_seen() {
    let mut script = Script::default();
    script.read(at(4));
    script.stream(2, None, false);
    script.event(2, 3, json!({ "task": at(3) }));
    streamed(&mut script, 1);
    assert_eq!(script.faults(&at(5)), [Fault::Stale]);
}

#[test]
fn list_without_a_task_that_was_seen_is_stale() {
    let mut script = good();
    script.add(Seen::Absent);
    assert_eq!(script.faults(&at(5)), [Fault::Stale]);
    let mut script = Script::default();
    script.add(Seen::Absent);
    streamed(&mut script, 1);
    assert_eq!(script.faults(&at(5)), [], "nobody had seen it yet");
}

#[test]
fn history_that_is_shorter_than_before_is_stale() {
    let mut script = good();
    let mut end = at(5);
    end["history"] = json!([message("m1"), message("m2")]);
    script.read(end.clone());
    script.read(at(5));
    assert_eq!(script.faults(&end), [Fault::Stale]);
}

#[test]
fn history_that_is_not_the_start_of_the_last_one_is_noticed() {
    let mut script = good();
    let mut other = at(5);
    other["history"] = json!([message("other")]);
    script.read(other);
    assert_eq!(script.faults(&at(5)), [Fault::Snapshot]);
}

#[test]
fn stream_that_ends_before_the_task_is_a_lost_end() {
    let mut script = Script::default();
    streamed(&mut script, 1);
    script.stream(2, Some(1), false);
    script.event(2, 2, update("WORKING", 1));
    script.add(Seen::Ended { stream: 2 });
    assert_eq!(script.faults(&at(5)), [Fault::LostEnd]);
    let mut script = Script::default();
    streamed(&mut script, 1);
    script.stream(2, Some(2), false);
    script.add(Seen::Ended { stream: 2 });
    assert_eq!(script.faults(&at(5)), [Fault::LostEnd], "without any event");
    let mut script = good();
    script.add(Seen::EndedAfter(4));
    assert_eq!(script.faults(&at(5)), [Fault::LostEnd], "refused");
}

#[test]
fn question_ends_the_stream_of_a_message_and_no_subscription() {
    for (is_send, expected) in [(true, vec![]), (false, vec![Fault::LostEnd])] {
        let mut script = Script::default();
        script.stream(1, is_send.then_some(1), is_send);
        if !is_send {
            script.event(1, 1, submitted());
        }
        script.event(1, 2, update("INPUT_REQUIRED", 1));
        script.add(Seen::Ended { stream: 1 });
        let end = task(&status("INPUT_REQUIRED", 1), &[]);
        assert_eq!(script.faults(&end), expected);
    }
}

#[test]
fn event_after_the_end_is_noticed() {
    let mut script = Script::default();
    script.stream(1, None, true);
    for (position, data) in (1..).zip(log()) {
        script.event(1, position, data);
    }
    script.event(1, 6, update("WORKING", 3));
    let faults = script.faults(&task(&status("WORKING", 3), &["x", "y"]));
    assert_eq!(faults, [Fault::LostEnd]);
}

#[test]
fn cancel_that_succeeded_leaves_the_task_canceled() {
    let mut script = good();
    script.add(Seen::Canceled);
    assert_eq!(script.faults(&at(5)), [Fault::Cancel]);
    let mut end = at(5);
    end["status"] = status("CANCELED", 9);
    let mut script = Script::default();
    script.stream(1, None, true);
    script.event(1, 1, submitted());
    script.add(Seen::Canceled);
    script.event(1, 2, json!({ "statusUpdate": { "status": status("CANCELED", 9) } }));
    assert_eq!(script.faults(&end), []);
}

#[test]
fn each_accepted_message_is_in_the_history_once_and_in_order() {
    let accepted = |texts: &[&str]| {
        let mut script = good();
        for text in texts {
            script.add(Seen::Accepted((*text).to_owned()));
        }
        script
    };
    let end = |texts: &[&str]| {
        let mut end = at(5);
        end["history"] = texts.iter().map(|text| message(text)).collect();
        end
    };
    let all = accepted(&["m2", "m3"]);
    assert_eq!(all.faults(&end(&["m1", "m2", "m3"])), []);
    assert_eq!(all.faults(&end(&["m1", "m3"])), [Fault::MessageLost]);
    assert_eq!(all.faults(&end(&["m1", "m2", "m3", "m2"])), [Fault::MessageTwice]);
    assert_eq!(all.faults(&end(&["m1", "m3", "m2"])), [Fault::MessageOrder]);
    let twice = accepted(&["m2", "m2"]);
    assert_eq!(twice.faults(&end(&["m1", "m2"])), [], "on two ways");
    assert_eq!(twice.faults(&end(&["m1"])), [Fault::MessageLost], "once");
    // Two that were sent at once may be in either order.
    let mut both = good();
    let asked = both.now;
    both.add_asked(asked, Seen::Accepted("m2".into()));
    both.add_asked(asked, Seen::Accepted("m3".into()));
    assert_eq!(both.faults(&end(&["m1", "m3", "m2"])), []);
    let mut refused = good();
    refused.add(Seen::Refused("m2".into()));
    assert_eq!(refused.faults(&end(&["m1", "m2"])), [Fault::MessageTwice]);
    assert_eq!(refused.faults(&end(&["m1"])), []);
}
