//! What is built, and which drills it is for.

use std::time::Duration;

use serde::Deserialize;

use crate::{drill::Drill, run::PAUSE};

/// The stores and the number of nodes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Topology {
    /// PostgreSQL and two nodes.
    #[serde(rename = "postgres-2")]
    Postgres2,
    /// PostgreSQL and three nodes.
    #[serde(rename = "postgres-3")]
    Postgres3,
    /// PostgreSQL and NATS, and two nodes.
    Nats,
    /// A file and one node.
    Sqlite,
}

impl Topology {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Postgres2 => "postgres-2",
            Self::Postgres3 => "postgres-3",
            Self::Nats => "nats",
            Self::Sqlite => "sqlite",
        }
    }

    pub(crate) const fn nodes(self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres2 | Self::Nats => 2,
            Self::Postgres3 => 3,
        }
    }

    pub(crate) const fn has_database(self) -> bool {
        match self {
            Self::Sqlite => false,
            Self::Postgres2 | Self::Postgres3 | Self::Nats => true,
        }
    }

    /// The drills of those that are wanted; none means all.
    pub(crate) fn drills(self, wanted: &[Drill]) -> Vec<Drill> {
        let is_wanted = |drill: &Drill| wanted.is_empty() || wanted.contains(drill);
        self.all_drills().iter().copied().filter(is_wanted).collect()
    }

    /// The time of a round of drills.
    pub(crate) fn round(self, wanted: &[Drill]) -> Duration {
        self.drills(wanted).iter().map(|drill| drill.duration() + PAUSE).sum()
    }

    const fn all_drills(self) -> &'static [Drill] {
        use Drill::{FailOver, Kill, LoseNats, SlowLink, StalledLink, Stop};
        match self {
            Self::Postgres2 | Self::Postgres3 => &[Kill, StalledLink, Stop, FailOver, SlowLink],
            Self::Nats => &[Kill, StalledLink, LoseNats, Stop, FailOver, SlowLink],
            Self::Sqlite => &[Kill, Stop],
        }
    }
}
