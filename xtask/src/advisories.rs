//! Checks `Cargo.lock` against a copy of the RustSec advisory database, without a network.
//!
//! `cargo deny check advisories` and `cargo audit` fetch the database themselves and accept only a
//! clone of their own making; this reads any copy.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use semver::{Version, VersionReq};
use serde::Deserialize;

use crate::{Result, workspace};

/// The arguments of `cargo xtask advisories`.
///
/// Fails if a crate of `Cargo.lock` has a vulnerability that its version does not fix, unless
/// `deny.toml` lists the advisory under `advisories.ignore`. Other advisories, such as those on
/// unmaintained crates, are warnings. The last line is `N packages, N advisories: N vulnerabilities, N
/// warnings`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory with the database: a clone of `github.com/rustsec/advisory-db`
    #[arg(long, value_name = "DIR")]
    database: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result {
    let root = workspace::root();
    let ignored: Config = toml::from_str(&workspace::read(&root.join("deny.toml"))?)?;
    let packages = packages(&workspace::read(&root.join("Cargo.lock"))?)?;
    let advisories = database(&args.database)?;
    let newest = advisories.iter().map(|one| &*one.advisory.date).max().unwrap_or_default();
    println!("newest advisory of the database: {newest}");
    let found = findings(&packages, &advisories, &ignored.advisories.ignored());
    for finding in &found {
        println!("{finding}");
    }
    let (warnings, vulnerabilities): (Vec<_>, Vec<_>) =
        found.iter().partition(|finding| finding.starts_with("warning"));
    println!(
        "{} packages, {} advisories: {} vulnerabilities, {} warnings",
        packages.len(),
        advisories.len(),
        vulnerabilities.len(),
        warnings.len()
    );
    match vulnerabilities.is_empty() {
        true => Ok(()),
        false => Err("update the crates, or list an advisory in deny.toml with a reason".into()),
    }
}

/// A package of `Cargo.lock` that comes from a registry.
#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: Version,
    source: Option<String>,
}

/// The front matter of an advisory.
#[derive(Debug, Deserialize)]
struct Entry {
    advisory: Advisory,
    #[serde(default)]
    versions: Versions,
}

#[derive(Debug, Deserialize)]
struct Advisory {
    id: String,
    package: String,
    date: String,
    withdrawn: Option<String>,
    /// The kind of an advisory that is not about a vulnerability.
    informational: Option<String>,
}

/// The versions that the advisory does not concern.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Versions {
    patched: Vec<VersionReq>,
    unaffected: Vec<VersionReq>,
}

#[derive(Deserialize)]
struct Config {
    advisories: AdvisoriesConfig,
}

#[derive(Deserialize)]
struct AdvisoriesConfig {
    #[serde(default)]
    ignore: Vec<Ignored>,
}

/// An entry of `advisories.ignore`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Ignored {
    Id(String),
    WithReason { id: String },
}

impl AdvisoriesConfig {
    fn ignored(&self) -> BTreeSet<&str> {
        let ids = self.ignore.iter().map(|ignored| match ignored {
            Ignored::Id(id) | Ignored::WithReason { id } => id.as_str(),
        });
        ids.collect()
    }
}

fn packages(lock: &str) -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Package>,
    }
    let mut packages = toml::from_str::<Lock>(lock)?.package;
    packages.retain(|package| package.source.is_some());
    Ok(packages)
}

/// Reads the advisories on crates: `crates/NAME/ID.md`.
fn database(directory: &Path) -> Result<Vec<Entry>> {
    let crates = directory.join("crates");
    let entries = |path: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
        entries.map(|entry| Ok(entry?.path())).collect()
    };
    let mut advisories = Vec::new();
    for package in entries(&crates)?.into_iter().filter(|path| path.is_dir()) {
        for file in entries(&package)? {
            if file.extension().is_some_and(|extension| extension == "md") {
                // One that can't be read may be the one that applies.
                let read = front_matter(&workspace::read(&file)?);
                advisories.push(read.map_err(|error| format!("{}: {error}", file.display()))?);
            }
        }
    }
    match advisories.is_empty() {
        true => Err(format!("{} has no advisories", crates.display()).into()),
        false => Ok(advisories),
    }
}

/// Reads the TOML block at the start of an advisory.
fn front_matter(markdown: &str) -> Result<Entry> {
    let block =
        markdown.trim_start().strip_prefix("```toml").and_then(|rest| rest.split_once("```"));
    let (toml, _) = block.ok_or("expected a TOML block at the start")?;
    Ok(toml::from_str(toml)?)
}

/// The advisories that apply, a line each.
fn findings(packages: &[Package], advisories: &[Entry], ignored: &BTreeSet<&str>) -> Vec<String> {
    let mut found = Vec::new();
    for Entry { advisory, versions } in advisories {
        if advisory.withdrawn.is_some() || ignored.contains(&*advisory.id) {
            continue;
        }
        let fine = || versions.patched.iter().chain(&versions.unaffected);
        for package in packages.iter().filter(|package| package.name == advisory.package) {
            if fine().any(|fine| fine.matches(&package.version)) {
                continue;
            }
            let kind = match &advisory.informational {
                Some(kind) => format!("warning: {kind}"),
                None => "vulnerability".to_owned(),
            };
            found.push(format!("{kind}: {} {}: {}", package.name, package.version, advisory.id));
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        version = 4
        [[package]]
        name = "one"
        version = "1.2.3"
        source = "registry+https://github.com/rust-lang/crates.io-index"
        [[package]]
        name = "one"
        version = "2.0.0"
        source = "registry+https://github.com/rust-lang/crates.io-index"
        [[package]]
        name = "two"
        version = "0.4.0"
        source = "registry+https://github.com/rust-lang/crates.io-index"
        [[package]]
        name = "own"
        version = "0.1.0"
    "#;

    fn write(directory: &Path, package: &str, id: &str, rest: &str) {
        let folder = directory.join("crates").join(package);
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{package}\"\ndate = \"2026-01-01\"\n\
             {rest}\n```\n\n# A title\n\n```toml\nnot read\n```\n"
        );
        fs::write(folder.join(format!("{id}.md")), text).unwrap();
    }

    #[test]
    fn only_advisories_that_apply_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path();
        let add = |package, id, rest| write(directory, package, id, rest);
        add("one", "RUSTSEC-1", "[versions]\npatched = [\">= 1.3.0\"]");
        add("one", "RUSTSEC-2", "[versions]\npatched = [\">= 1.2.3, < 1.3.0\", \">= 2.0.0\"]");
        add("one", "RUSTSEC-3", "[versions]\npatched = []\nunaffected = [\"< 2.0.0\"]");
        add("one", "RUSTSEC-4", "withdrawn = \"2026-02-01\"\n[versions]\npatched = []");
        add("one", "RUSTSEC-5", "[versions]\npatched = []");
        add("two", "RUSTSEC-6", "informational = \"unmaintained\"\n[versions]\npatched = []");
        add("two", "RUSTSEC-7", "[affected.functions]\n\"two::f\" = [\"< 0.5.0\"]");
        add("absent", "RUSTSEC-8", "[versions]\npatched = []");
        add("own", "RUSTSEC-9", "[versions]\npatched = []");
        let advisories = database(directory).unwrap();
        assert_eq!(advisories.len(), 9);
        let found = findings(&packages(LOCK).unwrap(), &advisories, &BTreeSet::from(["RUSTSEC-5"]));
        assert_eq!(
            found,
            [
                "vulnerability: one 1.2.3: RUSTSEC-1",
                "vulnerability: one 2.0.0: RUSTSEC-3",
                "vulnerability: two 0.4.0: RUSTSEC-7",
                "warning: unmaintained: two 0.4.0: RUSTSEC-6",
            ]
        );
    }

    #[test]
    fn database_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = database(folder.path()).unwrap_err().to_string();
        assert!(error.contains("crates"), "{error}");
        fs::create_dir_all(folder.path().join("crates/one")).unwrap();
        assert!(database(folder.path()).unwrap_err().to_string().contains("no advisories"));
        for rest in ["[versions]\npatched = [\"soon\"]", "informational = 1", "id ="] {
            write(folder.path(), "one", "RUSTSEC-1", rest);
            let error = database(folder.path()).unwrap_err().to_string();
            assert!(error.contains("RUSTSEC-1.md"), "{error}");
        }
    }

    #[test]
    fn configuration_and_lock_file_of_the_workspace_are_read() {
        let root = workspace::root();
        let lock = packages(&workspace::read(&root.join("Cargo.lock")).unwrap()).unwrap();
        assert!(lock.iter().any(|package| package.name == "tokio"));
        let config: Config =
            toml::from_str(&workspace::read(&root.join("deny.toml")).unwrap()).unwrap();
        assert!(config.advisories.ignored().iter().all(|id| id.starts_with("RUSTSEC-")));
        let ignored: Config = toml::from_str(
            "[advisories]\nignore = [\"RUSTSEC-1\", { id = \"RUSTSEC-2\", reason = \"no\" }]",
        )
        .unwrap();
        assert_eq!(ignored.advisories.ignored(), BTreeSet::from(["RUSTSEC-1", "RUSTSEC-2"]));
    }
}
