//! The oldest Rust version of each published crate.
//!
//! `rust-version` has to be at least that of every dependency in `Cargo.lock` with default features.
//! An optional dependency may need a newer version than the crate; Cargo reports it by name.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde::Deserialize;

use crate::{
    Result,
    package::{Package, published},
    workspace,
};

/// Dependencies of other platforms are not downloaded, so they don't count.
const PLATFORMS: [&str; 3] =
    ["aarch64-apple-darwin", "x86_64-pc-windows-msvc", "x86_64-unknown-linux-gnu"];

/// `1.88` and `1.88.0` are the same version.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Rust(u32, u32, u32);

impl Rust {
    fn parse(text: &str) -> Result<Self> {
        let mut parts = text.split('.').map(str::parse);
        let mut next = || parts.next().unwrap_or(Ok(0)).map_err(|error| format!("{text}: {error}"));
        Ok(Self(next()?, next()?, next()?))
    }
}

pub(crate) fn run() -> Result {
    let packages = published()?;
    let required = required_by_dependency()?;
    let mut by_version: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut is_sufficient = true;
    for package in &packages {
        let own = package.rust_version.as_deref().ok_or("a package without rust-version")?;
        by_version.entry(own).or_default().push(&package.name);
        let needed = tree(package)?
            .into_iter()
            .filter_map(|dependency| Some((*required.get(&dependency)?, dependency)))
            .max();
        let Some((Rust(major, minor, _), (name, version))) = needed else { continue };
        let needed = format!("{name} {version} needs {major}.{minor}");
        println!("{:<22} {own}  {needed}", package.name);
        if Rust(major, minor, 0) > Rust::parse(own)? {
            eprintln!("{}: rust-version is {own}, but {needed}", package.name);
            is_sufficient = false;
        }
    }
    if !is_sufficient {
        return Err("a rust-version is older than that of a dependency".into());
    }
    for (version, names) in by_version {
        check(version, &names)?;
    }
    Ok(())
}

/// A name and a version.
type Dependency = (String, String);

/// The Rust version of each package in the lock file that states one.
fn required_by_dependency() -> Result<BTreeMap<Dependency, Rust>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        version: String,
        rust_version: Option<String>,
        source: Option<String>,
    }
    let metadata =
        workspace::output(workspace::cargo().args(["metadata", "--locked", "--format-version=1"]))?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    let mut required = BTreeMap::new();
    for package in metadata.packages {
        // Those of the workspace, without a source, are checked themselves.
        if let (Some(rust), Some(_)) = (package.rust_version, package.source) {
            required.insert((package.name, package.version), Rust::parse(&rust)?);
        }
    }
    Ok(required)
}

/// What a program with `package` builds, with default features.
fn tree(package: &Package) -> Result<BTreeSet<Dependency>> {
    let mut command = workspace::cargo();
    command.args(["tree", "--locked", "-e", "normal,build", "--prefix", "none", "-f", "{p}"]);
    command.args(["-p", &package.name]).args(PLATFORMS.iter().flat_map(|one| ["--target", one]));
    let tree = workspace::output(&mut command)?;
    let dependency = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split(' ').next()?.to_owned()))
    };
    Ok(tree.lines().filter_map(dependency).collect())
}

/// Compiles `packages` with the toolchain of `version`, if it is installed.
fn check(version: &str, packages: &[&str]) -> Result {
    let toolchains = Command::new("rustup").args(["toolchain", "list"]).output();
    let toolchains = toolchains.map(|output| output.stdout).unwrap_or_default();
    let toolchains = String::from_utf8_lossy(&toolchains);
    let installed = toolchains.split_whitespace().find(|toolchain| {
        let rest = toolchain.strip_prefix(version);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    });
    let Some(toolchain) = installed else {
        println!("SKIPPED: {} with Rust {version}, which is not installed:", packages.join(", "));
        println!("SKIPPED: rustup toolchain install --profile minimal {version}");
        return Ok(());
    };
    println!("checking {} with {toolchain}", packages.join(", "));
    let mut command = Command::new("rustup");
    command.current_dir(workspace::root()).args(["run", toolchain, "cargo", "check", "--locked"]);
    command.args(["--quiet", "--target-dir", &format!("target/rust-{version}")]);
    command.args(packages.iter().flat_map(|name| ["-p", name]));
    // Those of the toolchain that runs this program.
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTDOC");
    if command.status()?.success() { Ok(()) } else { Err(format!("Rust {version} fails").into()) }
}
