//! The published crates, as `cargo metadata` describes them.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::{Result, workspace};

/// A package with the parts of its manifest that are checked.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) rust_version: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(super) description: Option<String>,
    pub(super) documentation: Option<String>,
    pub(super) license: Option<String>,
    pub(super) keywords: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) features: BTreeMap<String, Vec<String>>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) metadata: Value,
    publish: Option<Vec<String>>,
}

/// A dependency, in the terms of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// The version requirement; `*` if the manifest names none.
    pub(super) req: String,
    /// `dev` or `build`, or none for a normal dependency.
    pub(super) kind: Option<String>,
}

impl Package {
    /// The folder of the manifest.
    pub(super) fn folder(&self) -> PathBuf {
        self.manifest_path.parent().map(PathBuf::from).unwrap_or_default()
    }

    /// Whether the package has a library for users. That of a command is for its tests.
    pub(crate) fn has_library(&self) -> bool {
        let has = |file| self.folder().join(file).exists();
        has("src/lib.rs") && !has("src/main.rs")
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// The members of the workspace that are published, by name.
pub(crate) fn published() -> Result<Vec<Package>> {
    let mut command = workspace::cargo();
    let metadata =
        workspace::output(command.args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    // An empty list of registries is `publish = false`.
    let is_published = |package: &Package| package.publish.as_ref().is_none_or(|to| !to.is_empty());
    let mut packages: Vec<_> = metadata.packages.into_iter().filter(is_published).collect();
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(packages)
}
