//! Installs the official SDKs, at the versions that `tests/interop` pins, below `target`.

use std::{fs, path::Path, process::Command};

use crate::Result;

use super::{Language, Programs, Sdk, process};

/// What came of an installation.
pub(super) enum Installed {
    /// The SDK can be used.
    Ready(Programs),
    /// This machine has no interpreter for it.
    Absent(String),
}

pub(super) fn install(sdk: Sdk, sources: &Path, target: &Path) -> Result<Installed> {
    let (program, arguments) = match sdk.language() {
        Language::Python => {
            ("python3", ["-c", "import sys, venv; sys.exit(sys.version_info < (3, 10))"])
        }
        Language::Js => {
            ("node", ["-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)"])
        }
    };
    if !process::succeeds(Command::new(program).args(arguments)) {
        let oldest = match sdk.language() {
            Language::Python => "python3 3.10 or newer with venv",
            Language::Js => "node 20 or newer",
        };
        return Ok(Installed::Absent(format!("this machine has no {oldest}")));
    }
    match sdk.language() {
        Language::Python => {
            let target = target.join(sdk.name());
            fs::create_dir_all(&target)?;
            python(sdk, &sources.join(sdk.folder()), &target)
        }
        Language::Js => js(sdk, sources, target),
    }
    .map(Installed::Ready)
}

/// A virtual environment; the drivers run where they are.
fn python(sdk: Sdk, sources: &Path, target: &Path) -> Result<Programs> {
    let requirements = sources.join("requirements.txt");
    let interpreter = target.join("bin/python");
    once(&requirements, &target.join("installed"), || {
        process::succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(target))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        process::succeed(Command::new(&interpreter).args(pip).arg(&requirements))
    })?;
    Ok(Programs { sdk, interpreter, folder: sources.to_owned(), extension: "py" })
}

/// A copy of the drivers of all versions, which share some: modules are looked for from where
/// a file lies, and each version has those of its own folder.
fn js(sdk: Sdk, sources: &Path, target: &Path) -> Result<Programs> {
    copy(&sources.join("js"), &target.join("js"))?;
    let folder = target.join(sdk.folder());
    once(&folder.join("package-lock.json"), &folder.join("installed"), || {
        let ci = ["ci", "--no-audit", "--no-fund", "--loglevel", "error"];
        process::succeed(Command::new("npm").args(ci).current_dir(&folder))
    })?;
    Ok(Programs { sdk, interpreter: "node".into(), folder, extension: "mjs" })
}

/// Copies a folder with all that is in it, over what is there.
fn copy(from: &Path, to: &Path) -> Result {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copied = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &copied)?;
        } else {
            fs::copy(entry.path(), copied)?;
        }
    }
    Ok(())
}

/// Does `work` unless it was done for what is in `wanted`, which `done` remembers.
fn once(wanted: &Path, done: &Path, work: impl FnOnce() -> Result) -> Result {
    let wanted = fs::read(wanted)?;
    if fs::read(done).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    work()?;
    Ok(fs::write(done, wanted)?)
}
