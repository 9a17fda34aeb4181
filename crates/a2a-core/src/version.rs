//! Protocol revisions and their names on the wire.

use std::{fmt, str::FromStr};

use crate::{Error, ErrorKind, ParseError};

/// A published revision of the protocol.
///
/// Exhaustive: code that reads and writes revisions has to handle a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolVersion {
    /// 0.1: `tasks/send`, session ids.
    V0_1,
    /// 0.2: `message/send`, contexts, parts with `kind`.
    V0_2,
    /// 0.3: three transports, gRPC package `a2a.v1`.
    V0_3,
    /// The draft that preceded 1.0.
    V1Draft,
    /// 1.0, the current revision. Patch releases are the same revision (spec §3.6).
    #[default]
    V1_0,
}

impl ProtocolVersion {
    /// The newest revision.
    pub const LATEST: Self = Self::V1_0;

    /// The value of the `A2A-Version` service parameter.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_2 => "0.2",
            Self::V0_3 => "0.3",
            Self::V1Draft | Self::V1_0 => "1.0",
        }
    }

    /// Creates the error for a version that is not served where it was requested. `supported` are
    /// all versions of the server; other paths may serve the requested one.
    pub fn not_supported(asked: &str, supported: &[Self]) -> Error {
        let mut names: Vec<_> = supported.iter().map(|version| version.as_str()).collect();
        names.dedup();
        let names = names.join(",");
        let is_elsewhere = asked.parse().is_ok_and(|version| supported.contains(&version));
        let message = match (asked, is_elsewhere) {
            ("", _) => format!(
                "missing A2A-Version means 0.3{}; this agent supports {names}: \
                 send `A2A-Version: {}`",
                if is_elsewhere { ", which this path does not have" } else { "" },
                Self::LATEST
            ),
            (_, true) => format!(
                "version {asked:?} is not supported at this path; this agent supports {names}"
            ),
            (_, false) => {
                format!("version {asked:?} is not supported; this agent supports {names}")
            }
        };
        Error::new(ErrorKind::VersionNotSupported, message)
            .with_metadata("supportedVersions", names)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProtocolVersion {
    type Err = ParseError;

    /// Parses `Major.Minor`, ignoring a patch number; empty means 0.3 (spec §3.6.2).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || ParseError::new(format!("{text:?} is not a version of the protocol"));
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Ok(Self::V0_3);
        }
        let mut numbers = trimmed.split('.').map(|number| {
            let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| number.parse::<u16>().ok()).flatten().ok_or_else(unknown)
        });
        let major = numbers.next().ok_or_else(unknown)??;
        let minor = numbers.next().ok_or_else(unknown)??;
        if let Some(patch) = numbers.next() {
            patch?;
        }
        if numbers.next().is_some() {
            return Err(unknown());
        }
        match (major, minor) {
            (1, 0) => Ok(Self::V1_0),
            (0, 3) => Ok(Self::V0_3),
            (0, 2) => Ok(Self::V0_2),
            (0, 1) => Ok(Self::V0_1),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_number_is_ignored() {
        for (text, version) in [
            ("1.0", ProtocolVersion::V1_0),
            ("1.0.7", ProtocolVersion::V1_0),
            (" 1.0 ", ProtocolVersion::V1_0),
            ("0.3", ProtocolVersion::V0_3),
            ("0.2.5", ProtocolVersion::V0_2),
            ("", ProtocolVersion::V0_3),
        ] {
            assert_eq!(text.parse(), Ok(version), "{text:?}");
        }
        for text in ["1", "9.9", "1.0.0.0", "1.x", "v1.0", "1.", "+1.0", "1.0.x", "99999.0"] {
            assert!(text.parse::<ProtocolVersion>().is_err(), "{text:?}");
        }
    }
}
