//! The drills, and their order.

use std::time::Duration;

use a2a_tests::chaos::Nodes;
use serde::Deserialize;

/// What happens to the nodes and their servers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Drill {
    /// A node is killed, and restarted at the end.
    Kill,
    /// A node is stopped for longer than its leases last.
    Stop,
    /// Bytes between a node and the database take 150 ms in each direction.
    SlowLink,
    /// Nothing passes between a node and the database for longer than leases last.
    StalledLink,
    /// The standby becomes the primary. Old sessions are read-only, and end with the drill.
    FailOver,
    /// NATS is killed, and replaced at the end.
    LoseNats,
}

impl Drill {
    /// How long it takes.
    pub(crate) const fn duration(self) -> Duration {
        Duration::from_secs(match self {
            Self::Kill => 7,
            Self::Stop | Self::StalledLink => 17,
            Self::SlowLink => 12,
            Self::FailOver => 24,
            Self::LoseNats => 30,
        })
    }

    /// For how long it excuses delays: tasks of a node that is away wait for their takeover, and
    /// sessions for the new primary, but not for the end of the old one. Over a slow link, messages
    /// that wait for others take many round trips.
    pub(crate) const fn disturbance(self) -> Option<Duration> {
        match self {
            Self::Kill | Self::Stop | Self::StalledLink => Some(self.duration()),
            Self::FailOver => Some(Duration::from_secs(4)),
            Self::SlowLink => Some(Duration::from_secs(6)),
            Self::LoseNats => None,
        }
    }
}

/// An endless sequence of drills that a seed determines: rounds with each drill once.
#[derive(Debug)]
pub(crate) struct Schedule {
    drills: Vec<Drill>,
    round: Vec<Drill>,
    members: u64,
    dice: Nodes,
}

impl Schedule {
    pub(crate) fn new(drills: &[Drill], members: usize, seed: u64) -> Self {
        let dice = Nodes::new(vec![String::new()], seed);
        let members = u64::try_from(members).unwrap_or(1);
        Self { drills: drills.to_vec(), round: Vec::new(), members, dice }
    }
}

/// The drills, each with the number of its node.
impl Iterator for Schedule {
    type Item = (Drill, usize);

    fn next(&mut self) -> Option<Self::Item> {
        if self.round.is_empty() {
            self.round.clone_from(&self.drills);
        }
        let pick = |count| usize::try_from(self.dice.random_below(count)).unwrap_or_default();
        let count = u64::try_from(self.round.len()).unwrap_or(1);
        let (drill, member) = (pick(count), pick(self.members));
        Some((self.round.swap_remove(drill), member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Drill; 3] = [Drill::Kill, Drill::Stop, Drill::SlowLink];

    #[test]
    fn seed_determines_the_schedule_and_each_round_has_every_drill() {
        let schedule = |seed| Schedule::new(&ALL, 3, seed).take(30).collect::<Vec<_>>();
        assert_eq!(schedule(7), schedule(7));
        assert_ne!(schedule(7), schedule(1_234_567));
        for round in schedule(7).chunks(3) {
            for drill in ALL {
                assert!(round.iter().any(|(of_round, _)| *of_round == drill), "{round:?}");
            }
        }
        let members = schedule(7).into_iter().map(|(_, member)| member);
        assert_eq!(members.collect::<std::collections::BTreeSet<_>>().len(), 3);
    }
}
