//! Which nodes are there.
//!
//! A node that is killed may have written something that it never told. Where that was the end of
//! a task, nobody takes the task over, and nobody tells it either. So nodes say that they are
//! there, and who does not hear one any more looks for itself.

use std::{collections::HashMap, time::Duration};

/// After how long a node that has nothing to say says that it is there.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// The silence after which a node is gone, in the time of the server: it goes on for as long as
/// anybody says something, and a listener that is late hears no silence.
const SILENCE: Duration = Duration::from_secs(8);
/// The most nodes that are watched. Past them, the rest is not.
const MAX_NODES: usize = 10_000;

/// The other nodes that were heard of.
#[derive(Debug)]
pub(super) struct Presence {
    /// This node, whose words are looked at for their time only.
    own: String,
    nodes: HashMap<String, Seen>,
    /// When they were looked at last, in nanoseconds since 1970.
    looked: i128,
}

#[derive(Debug)]
struct Seen {
    life: u64,
    last: i128,
}

/// A word of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) from: &'a str,
    /// Which life of the node says it: each start is another. 0 from a release that does not say
    /// so, which is not watched.
    pub(super) life: u64,
    /// Whether it is the last word.
    pub(super) leaves: bool,
    /// When the server took it, in nanoseconds since 1970.
    pub(super) time: i128,
}

impl Presence {
    pub(super) fn new(own: &str) -> Self {
        Self { own: own.to_owned(), nodes: HashMap::new(), looked: 0 }
    }

    /// Notes a word. Returns whether a node has gone without a last one: it has begun another
    /// life, or is silent.
    pub(super) fn hear(&mut self, word: Word<'_>) -> bool {
        let another = word.from != self.own && self.note(word);
        let silent = self.look(word.time);
        another || silent
    }

    fn note(&mut self, word: Word<'_>) -> bool {
        let Word { life, leaves, time, .. } = word;
        if let Some(seen) = self.nodes.get_mut(word.from) {
            let another = seen.life != life;
            if leaves {
                self.nodes.remove(word.from);
            } else {
                *seen = Seen { life, last: time };
            }
            return another;
        }
        if life != 0 && !leaves && self.nodes.len() < MAX_NODES {
            self.nodes.insert(word.from.to_owned(), Seen { life, last: time });
        }
        false
    }

    /// Forgets who is silent, and returns whether there was somebody.
    fn look(&mut self, now: i128) -> bool {
        // Another server has another clock, which may be behind.
        if now.abs_diff(self.looked) < BEAT.as_nanos() {
            return false;
        }
        self.looked = now;
        let before = self.nodes.len();
        self.nodes.retain(|_, seen| now.abs_diff(seen.last) < SILENCE.as_nanos());
        self.nodes.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i128 = 1_800_000_000_000_000_000;

    /// What is heard at so many milliseconds.
    fn at(presence: &mut Presence, millis: i128, from: &str, life: u64) -> bool {
        let time = START + millis * 1_000_000;
        presence.hear(Word { from, life, leaves: false, time })
    }

    #[test]
    fn who_falls_silent_is_gone_once() {
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
    fn silence_of_all_is_nobodys_absence_until_somebody_speaks() {
        let mut presence = Presence::new("own");
        at(&mut presence, 0, "a", 1);
        at(&mut presence, 0, "b", 2);
        // As after a fault of the server: better to look once too often.
        assert!(at(&mut presence, 60_000, "a", 1));
        assert!(!at(&mut presence, 60_001, "b", 2));
        assert!(!at(&mut presence, 62_000, "a", 1));
    }

    #[test]
    fn a_clock_that_goes_back_hides_nobody() {
        let mut presence = Presence::new("own");
        at(&mut presence, 100_000, "a", 1);
        assert!(at(&mut presence, 0, "own", 9), "better to look once too often");
        assert!(!at(&mut presence, 500, "a", 1));
        assert!(at(&mut presence, 9_000, "own", 9));
    }

    #[test]
    fn another_life_means_that_one_has_ended_unless_it_said_farewell() {
        let mut presence = Presence::new("own");
        at(&mut presence, 0, "a", 1);
        assert!(at(&mut presence, 100, "a", 2));
        assert!(!at(&mut presence, 200, "a", 2));
        let time = START + 300_000_000;
        assert!(!presence.hear(Word { from: "a", life: 2, leaves: true, time }));
        assert!(!at(&mut presence, 400, "a", 3));
        assert!(!at(&mut presence, 3_000, "b", 1));
        // One of an older release is not watched.
        at(&mut presence, 3_000, "old", 0);
        assert!(!presence.nodes.contains_key("old"));
    }

    #[test]
    fn only_so_many_are_watched() {
        let mut presence = Presence::new("own");
        for number in 0..MAX_NODES + 10 {
            at(&mut presence, 0, &number.to_string(), 1);
        }
        assert_eq!(presence.nodes.len(), MAX_NODES);
    }
}
