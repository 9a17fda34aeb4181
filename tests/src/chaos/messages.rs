use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use serde_json::Value;

use super::{Fault, Record, Seen, check::Violation};

/// Checks that the history of the ended task has each accepted message once and in order, and no
/// other answer has a history that differs.
pub(super) fn check(records: &[Record], end: &Value, found: &mut Vec<Violation>) {
    let history = end["history"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut places = HashMap::<&str, usize>::new();
    for (place, message) in history.iter().enumerate() {
        let text = text(message);
        if message["role"] != "ROLE_USER" {
            continue;
        }
        if places.contains_key(text) {
            found.push((Fault::MessageTwice, format!("message {text:?} is in the history twice")));
        } else {
            places.insert(text, place);
        }
    }
    let mut lost = HashSet::new();
    let mut accepted = Vec::<(Duration, Duration, usize, &str)>::new();
    for record in records {
        match &record.seen {
            Seen::Accepted(text) => match places.get(text.as_str()) {
                Some(place) => accepted.push((record.asked, record.answered, *place, text)),
                // One that was sent on two ways is lost once.
                None if !lost.insert(text) => {}
                None => {
                    let detail = format!("message {text:?} was accepted and is not in the history");
                    found.push((Fault::MessageLost, detail));
                }
            },
            Seen::Refused(text) if places.contains_key(text.as_str()) => {
                let detail = format!("message {text:?} was refused and is in the history");
                found.push((Fault::MessageTwice, detail));
            }
            Seen::Task { task, has_history: true } => {
                let seen = task["history"].as_array().map(Vec::as_slice).unwrap_or_default();
                if !history.starts_with(seen) {
                    let detail = format!("{} is not the start of the history", task["history"]);
                    found.push((Fault::Snapshot, detail));
                }
            }
            _ => {}
        }
    }
    accepted.sort_by_key(|(_, answered, ..)| *answered);
    for (index, (_, answered, place, text)) in accepted.iter().enumerate() {
        let is_overtaken = |(asked, _, other, _): &&(Duration, Duration, usize, &str)| {
            asked > answered && other < place
        };
        if let Some((.., other)) = accepted[index..].iter().find(is_overtaken) {
            let detail = format!("message {other:?} was sent after {text:?} and is before it");
            found.push((Fault::MessageOrder, detail));
        }
    }
}

/// The text of a message.
pub(super) fn text(message: &Value) -> &str {
    message["parts"][0]["text"].as_str().unwrap_or_default()
}
