//! Where the value of a setting comes from.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use a2a_kit_client::{CardReference, CatalogLocation};

/// Where the value of a setting comes from, the strongest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Flag,
    Environment,
    /// The file of `--config`, or the nearest `.env`.
    Local {
        path: PathBuf,
        /// Whether the file was found in the working directory or above it.
        is_discovered: bool,
    },
    /// The file for the agent that is called.
    Agent(PathBuf),
    /// The file for all agents.
    Global(PathBuf),
    Default,
}

impl Source {
    /// The file of the working directory that a reference from here names without `./`. A flag is the
    /// word of the user.
    pub(super) fn bare_file(&self, reference: Option<&str>) -> Option<PathBuf> {
        let path = match reference?.parse().ok()? {
            CardReference::File(path) => path,
            CardReference::Catalog { catalog: CatalogLocation::File(path), .. } => path,
            _ => return None,
        };
        let is_bare = matches!(path.components().next(), Some(Component::Normal(_)));
        (*self != Self::Flag && is_bare).then_some(path)
    }

    /// The name in the output of `config show`.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "env",
            Self::Local { .. } => "local",
            Self::Agent(_) => "agent",
            Self::Global(_) => "global",
            Self::Default => "default",
        }
    }

    /// Whether it is a file that the user has not named.
    pub(crate) const fn is_discovered(&self) -> bool {
        matches!(self, Self::Local { is_discovered: true, .. })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Local { path, .. } | Self::Agent(path) | Self::Global(path) => Some(path),
            Self::Flag | Self::Environment | Self::Default => None,
        }
    }

    /// The precedence; a lower rank overrides a higher one.
    pub(crate) const fn rank(&self) -> u8 {
        match self {
            Self::Flag => 1,
            Self::Environment => 2,
            Self::Local { .. } => 3,
            Self::Agent(_) => 4,
            Self::Global(_) => 5,
            Self::Default => 6,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.path() {
            Some(path) => write!(f, " {}", path.display()),
            None => Ok(()),
        }
    }
}
