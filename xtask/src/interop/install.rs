//! Installs the official SDKs below `target`, at the versions pinned in `tests/interop`.

use std::{fs, path::Path, process::Command};

use crate::Result;

use super::{Language, Programs, Sdk, process};

/// The result of an installation.
pub(super) enum Installed {
    /// The SDK can be used.
    Ready(Programs),
    /// No suitable interpreter is installed.
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
        return Ok(Installed::Absent(format!("{oldest} is not installed")));
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

/// Creates a virtual environment; the drivers run in place.
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

/// Copies the drivers of all versions, because modules are resolved relative to the importing
/// file: each version needs its own `node_modules`.
fn js(sdk: Sdk, sources: &Path, target: &Path) -> Result<Programs> {
    copy(&sources.join("js"), &target.join("js"))?;
    let folder = target.join(sdk.folder());
    once(&folder.join("package-lock.json"), &folder.join("installed"), || {
        let ci = ["ci", "--no-audit", "--no-fund", "--loglevel", "error"];
        process::succeed(Command::new("npm").args(ci).current_dir(&folder))
    })?;
    Ok(Programs { sdk, interpreter: "node".into(), folder, extension: "mjs" })
}

/// Copies a directory recursively, overwriting existing files.
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

/// Calls `work` unless the stamp file `done` has the content of `wanted`.
fn once(wanted: &Path, done: &Path, work: impl FnOnce() -> Result) -> Result {
    let wanted = fs::read(wanted)?;
    if fs::read(done).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    work()?;
    Ok(fs::write(done, wanted)?)
}
