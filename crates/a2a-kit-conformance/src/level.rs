//! Levels of requirements.

use std::{fmt, str::FromStr};

use serde::Serialize;

/// The level of a requirement (RFC 2119), strictest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// MUST or MUST NOT.
    #[default]
    Must,
    /// SHOULD or SHOULD NOT.
    Should,
    /// MAY.
    May,
}

impl Level {
    /// The name on the command line and in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of a level is unknown.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown level {0:?} (expected must, should or may)")]
pub struct UnknownLevel(pub String);

a2a_core::debug_as_chain!(UnknownLevel);

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Must, Self::Should, Self::May]
            .into_iter()
            .find(|level| level.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}
