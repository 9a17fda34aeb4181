//! Liveness of other nodes.
//!
//! A node that is killed may have written something without publishing it. If that was the end of a
//! task, no node takes the task over or signals it. So nodes send heartbeats, and a missing
//! heartbeat makes the others reload.

use std::{collections::HashMap, time::Duration};

use super::wire::SignalMessage;

/// Heartbeat interval of an idle node.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of a node, in server time. It is judged by the messages of others, so a slow listener
/// sees no timeouts.
const NODE_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum number of nodes to watch. Further nodes are ignored.
const MAX_NODES: usize = 10_000;

/// The other known nodes.
#[derive(Debug)]
pub(super) struct Presence {
    /// This node, whose messages are used for their time only.
    own: String,
    nodes: HashMap<String, NodeState>,
    /// The time of the last sweep, in nanoseconds since 1970.
    last_sweep: i128,
}

#[derive(Debug)]
struct NodeState {
    incarnation: u64,
    last: i128,
}

impl Presence {
    pub(super) fn new(own: &str) -> Self {
        Self { own: own.to_owned(), nodes: HashMap::new(), last_sweep: 0 }
    }

    /// Processes a message as a heartbeat; `time` is that of the server, in nanoseconds since 1970.
    /// Returns whether a node has failed: it restarted without a last message, or timed out.
    pub(super) fn observe(&mut self, message: &SignalMessage, time: i128) -> bool {
        let another = message.from != self.own && self.note(message, time);
        let silent = self.sweep(time);
        another || silent
    }

    /// A node of an older release, whose incarnation is 0, is not watched.
    fn note(&mut self, message: &SignalMessage, time: i128) -> bool {
        let SignalMessage { ref from, incarnation, is_last, .. } = *message;
        if let Some(seen) = self.nodes.get_mut(from) {
            let another = seen.incarnation != incarnation;
            if is_last {
                self.nodes.remove(from);
            } else {
                *seen = NodeState { incarnation, last: time };
            }
            return another;
        }
        if incarnation != 0 && !is_last && self.nodes.len() < MAX_NODES {
            self.nodes.insert(from.clone(), NodeState { incarnation, last: time });
        }
        false
    }

    /// Removes timed out nodes, and returns whether there were any.
    fn sweep(&mut self, now: i128) -> bool {
        // Another server may have a clock that is behind.
        if now.abs_diff(self.last_sweep) < HEARTBEAT_INTERVAL.as_nanos() {
            return false;
        }
        self.last_sweep = now;
        let before = self.nodes.len();
        self.nodes.retain(|_, seen| now.abs_diff(seen.last) < NODE_TIMEOUT.as_nanos());
        self.nodes.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i128 = 1_800_000_000_000_000_000;

    /// Processes a heartbeat at a time in milliseconds.
    fn at(presence: &mut Presence, millis: i128, from: &str, incarnation: u64) -> bool {
        presence.observe(&message(from, incarnation, false), START + millis * 1_000_000)
    }

    fn message(from: &str, incarnation: u64, is_last: bool) -> SignalMessage {
        SignalMessage { from: from.to_owned(), records: Vec::new(), incarnation, is_last }
    }

    #[test]
    fn silent_node_is_reported_once() {
        let mut presence = Presence::new("own");
        assert!(!at(&mut presence, 0, "a", 1));
        for other in ["own", "b"] {
            let gone: Vec<_> =
                (1..12).filter(|second| at(&mut presence, second * 1_000, other, 2)).collect();
            assert_eq!(gone, [8], "{other}");
            assert!(!at(&mut presence, 12_000, "a", 1), "it only stood still");
            presence = Presence::new("own");
            at(&mut presence, 0, "a", 1);
        }
    }

    #[test]
    fn common_silence_is_judged_at_the_next_heartbeat() {
        let mut presence = Presence::new("own");
        at(&mut presence, 0, "a", 1);
        at(&mut presence, 0, "b", 2);
        // As after a server failure: an unnecessary reload is acceptable.
        assert!(at(&mut presence, 60_000, "a", 1));
        assert!(!at(&mut presence, 60_001, "b", 2));
        assert!(!at(&mut presence, 62_000, "a", 1));
    }

    #[test]
    fn backward_clock_hides_no_node() {
        let mut presence = Presence::new("own");
        at(&mut presence, 100_000, "a", 1);
        assert!(at(&mut presence, 0, "own", 9), "better to look once too often");
        assert!(!at(&mut presence, 500, "a", 1));
        assert!(at(&mut presence, 9_000, "own", 9));
    }

    #[test]
    fn new_incarnation_reports_the_last_unless_it_left() {
        let mut presence = Presence::new("own");
        at(&mut presence, 0, "a", 1);
        assert!(at(&mut presence, 100, "a", 2));
        assert!(!at(&mut presence, 200, "a", 2));
        assert!(!presence.observe(&message("a", 2, true), START + 300_000_000));
        assert!(!at(&mut presence, 400, "a", 3));
        assert!(!at(&mut presence, 3_000, "b", 1));
        // A node of an older release is not watched.
        at(&mut presence, 3_000, "old", 0);
        assert!(!presence.nodes.contains_key("old"));
    }

    #[test]
    fn watched_nodes_are_limited() {
        let mut presence = Presence::new("own");
        for number in 0..MAX_NODES + 10 {
            at(&mut presence, 0, &number.to_string(), 1);
        }
        assert_eq!(presence.nodes.len(), MAX_NODES);
    }
}
