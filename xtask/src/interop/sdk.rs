//! The SDKs that are tested, and the programs written with them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use crate::{Result, workspace};

use super::BINDINGS;

/// The SDKs and frameworks of `tests/interop/peers.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Peers {
    #[serde(rename = "sdk")]
    pub(super) sdks: Vec<Sdk>,
    #[serde(default, rename = "framework")]
    pub(super) frameworks: Vec<Sdk>,
}

/// An SDK or framework at one version; the file describes the members.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sdk {
    pub(super) name: String,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) language: Language,
    pub(super) folder: String,
    #[serde(default)]
    arguments: Vec<String>,
    /// Its revision, if that is an older one.
    pub(super) revision: Option<String>,
    #[serde(default)]
    bindings: Vec<String>,
    #[serde(default)]
    pub(super) extra: Extra,
    #[serde(default)]
    pub(super) serve: Vec<String>,
    /// Why it can't be tested.
    pub(super) absent: Option<String>,
    /// What `a2a conformance` finds in its smallest agent, if it is run on that.
    pub(super) findings: Option<BTreeSet<String>>,
    pub(super) client: Option<String>,
    pub(super) agent: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Language {
    Python,
    Js,
    Go,
    Java,
    Rust,
}

/// Drivers that only some SDKs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Extra {
    #[default]
    None,
    /// It signs and verifies cards.
    Cards,
    /// Its agent is called through a proxy from 1.0 to its revision.
    Upstream,
    /// It checks the OpenAPI document, and has no other drivers.
    Schema,
}

impl Peers {
    /// Reads the file. Its data lives as long as the program, as the columns of the matrices do.
    pub(super) fn load(sources: &Path) -> Result<&'static Self> {
        let file = sources.join("peers.toml");
        let peers: Self = toml::from_str(&workspace::read(&file)?)
            .map_err(|error| format!("{}: {error}", workspace::relative(&file)))?;
        Ok(Box::leak(Box::new(peers)))
    }
}

/// The peers of this name, or all.
pub(super) fn select(peers: &'static [Sdk], name: Option<&str>) -> Result<Vec<&'static Sdk>> {
    let selected: Vec<_> =
        peers.iter().filter(|peer| name.is_none_or(|name| name == peer.name)).collect();
    if selected.is_empty() {
        let names: Vec<_> = peers.iter().map(|peer| &*peer.name).collect();
        return Err(format!("unknown peer; one of {}", names.join(", ")).into());
    }
    Ok(selected)
}

impl Sdk {
    pub(super) fn bindings(&self) -> Vec<&'static str> {
        let has = |binding: &&str| {
            self.bindings.is_empty() || self.bindings.iter().any(|one| one == binding)
        };
        BINDINGS.into_iter().filter(has).collect()
    }
}

/// The programs written with an SDK.
pub(super) struct Programs {
    pub(super) sdk: &'static Sdk,
    pub(super) launch: Launch,
}

/// How programs are started.
pub(super) enum Launch {
    /// A file in a directory, by an interpreter.
    Script { interpreter: PathBuf, folder: PathBuf, extension: &'static str },
    /// An executable in a directory.
    Executable { folder: PathBuf },
    /// A jar that takes the name of the program as an argument.
    Jar(PathBuf),
}

impl Programs {
    /// A driver that calls the agent at `card`.
    pub(super) fn client(&self, name: &str, card: &str, binding: &str, only: &[String]) -> Command {
        let mut client = self.command(name);
        client.args(["--card", card, "--binding", binding]);
        client.args(only.iter().flat_map(|operation| ["--only", operation]));
        client
    }

    /// Whether there is a script of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        match &self.launch {
            Launch::Script { folder, extension, .. } => {
                folder.join(name).with_extension(extension).exists()
            }
            Launch::Executable { .. } | Launch::Jar(_) => true,
        }
    }

    pub(super) fn command(&self, name: &str) -> Command {
        let mut command = match &self.launch {
            Launch::Script { interpreter, folder, extension } => {
                let mut command = Command::new(interpreter);
                command.arg(folder.join(name).with_extension(extension));
                // No bytecode caches in the source directories.
                command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(Path::new(folder));
                command
            }
            Launch::Executable { folder } => Command::new(folder.join(name)),
            Launch::Jar(jar) => {
                let mut command = Command::new("java");
                command.arg("-jar").arg(jar).arg(name);
                command
            }
        };
        command.args(&self.sdk.arguments);
        command
    }
}
