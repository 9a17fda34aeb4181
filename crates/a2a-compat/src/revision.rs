//! Which revisions are served.

use std::{collections::BTreeSet, fmt, str::FromStr};

use a2a_core::ProtocolVersion;

/// A set of revisions, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revisions(BTreeSet<ProtocolVersion>);

impl Revisions {
    /// Every revision there is.
    pub fn all() -> Self {
        use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
        Self(BTreeSet::from([V0_1, V0_2, V0_3, V1Draft, V1_0]))
    }

    /// The current revision alone.
    pub fn latest() -> Self {
        Self(BTreeSet::from([ProtocolVersion::LATEST]))
    }

    /// Returns whether a revision is in the set.
    pub fn contains(&self, revision: ProtocolVersion) -> bool {
        self.0.contains(&revision)
    }

    /// Returns whether 0.2 or 0.3 is in the set: they share their methods and shapes.
    pub fn contains_kind(&self) -> bool {
        self.contains(ProtocolVersion::V0_2) || self.contains(ProtocolVersion::V0_3)
    }

    /// Goes through the revisions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = ProtocolVersion> {
        self.0.iter().copied()
    }

    /// The values of `A2A-Version` that are served, for the error that refuses another one.
    pub fn as_slice(&self) -> Vec<ProtocolVersion> {
        self.iter().collect()
    }
}

impl Default for Revisions {
    fn default() -> Self {
        Self::all()
    }
}

/// The text names no revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRevision(String);

impl fmt::Display for UnknownRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = "1.0, draft, 0.3, 0.2, 0.1, latest, all";
        write!(f, "{:?} is not a revision; known are {known}", self.0)
    }
}

impl std::error::Error for UnknownRevision {}

impl FromStr for Revisions {
    type Err = UnknownRevision;

    /// Reads names separated by commas: `1.0`, `draft`, `0.3`, `0.2`, `0.1`; `latest` is `1.0`.
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
                other => return Err(UnknownRevision(other.to_owned())),
            }
        }
        Ok(Self(revisions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_read_by_name() {
        assert_eq!("all".parse(), Ok(Revisions::all()));
        assert_eq!("latest".parse(), Ok(Revisions::latest()));
        let some: Revisions = "1.0, draft,0.2".parse().unwrap();
        assert!(some.contains(ProtocolVersion::V1Draft) && some.contains_kind());
        assert!(!some.contains(ProtocolVersion::V0_1));
        for bad in ["", "1.1", "0.3,", "Draft"] {
            assert!(bad.parse::<Revisions>().is_err(), "{bad:?}");
        }
    }
}
