//! The set of enabled revisions, and the JSON format of each.

use std::{collections::BTreeSet, str::FromStr};

use a2a_core::{ParseError, ProtocolVersion};

use crate::{Dialect, v0_1::V0_1, v0_3::V0_3, v1_draft::V1Draft};

/// A non-empty set of revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revisions(BTreeSet<ProtocolVersion>);

impl Revisions {
    /// All revisions.
    pub fn all() -> Self {
        use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
        Self(BTreeSet::from([V0_1, V0_2, V0_3, V1Draft, V1_0]))
    }

    /// Only the current revision.
    pub fn latest() -> Self {
        Self(BTreeSet::from([ProtocolVersion::LATEST]))
    }

    /// Returns whether the set contains a revision.
    pub fn contains(&self, revision: ProtocolVersion) -> bool {
        self.0.contains(&revision)
    }

    /// Returns whether the set contains 0.2 or 0.3, which share methods and types.
    pub fn contains_v0_2_or_v0_3(&self) -> bool {
        self.contains(ProtocolVersion::V0_2) || self.contains(ProtocolVersion::V0_3)
    }

    /// Iterates over the revisions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = ProtocolVersion> {
        self.0.iter().copied()
    }

    /// Returns the revisions, oldest first.
    pub fn to_vec(&self) -> Vec<ProtocolVersion> {
        self.iter().collect()
    }
}

impl Default for Revisions {
    fn default() -> Self {
        Self::all()
    }
}

impl FromStr for Revisions {
    type Err = ParseError;

    /// Parses a comma-separated list of `1.0`, `draft`, `0.3`, `0.2`, `0.1`, `latest` (`1.0`) and
    /// `all`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut revisions = BTreeSet::new();
        for name in text.split(',').map(str::trim) {
            match name {
                "1.0" | "latest" => drop(revisions.insert(ProtocolVersion::V1_0)),
                "draft" => drop(revisions.insert(ProtocolVersion::V1Draft)),
                "0.3" => drop(revisions.insert(ProtocolVersion::V0_3)),
                "0.2" => drop(revisions.insert(ProtocolVersion::V0_2)),
                "0.1" => drop(revisions.insert(ProtocolVersion::V0_1)),
                "all" => revisions.extend(Self::all().0),
                other => {
                    let known = "1.0, draft, 0.3, 0.2, 0.1, latest, all";
                    return Err(ParseError::new(format!(
                        "unknown revision {other:?} (known: {known})"
                    )));
                }
            }
        }
        Ok(Self(revisions))
    }
}

/// The JSON format of a revision; `None` for the current one.
pub(crate) fn dialect(revision: ProtocolVersion) -> Option<&'static dyn Dialect> {
    match revision {
        ProtocolVersion::V0_1 => Some(&V0_1),
        ProtocolVersion::V0_2 | ProtocolVersion::V0_3 => Some(&V0_3),
        ProtocolVersion::V1Draft => Some(&V1Draft),
        ProtocolVersion::V1_0 => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_parse_by_name() {
        assert_eq!("all".parse(), Ok(Revisions::all()));
        assert_eq!("latest".parse(), Ok(Revisions::latest()));
        let some: Revisions = "1.0, draft,0.2".parse().unwrap();
        assert!(some.contains(ProtocolVersion::V1Draft) && some.contains_v0_2_or_v0_3());
        assert!(!some.contains(ProtocolVersion::V0_1));
        for bad in ["", "1.1", "0.3,", "Draft"] {
            assert!(bad.parse::<Revisions>().is_err(), "{bad:?}");
        }
    }
}
