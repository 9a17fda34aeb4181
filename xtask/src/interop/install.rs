//! Installs the SDKs below `target`, at the versions pinned in `tests/interop`, and builds the
//! programs written with them.

use std::{fs, path::Path, process::Command};

use crate::{Result, workspace};

use super::{
    process,
    sdk::{Language, Launch, Programs, Sdk},
};

/// The result of an installation.
pub(super) enum Installed {
    /// The SDK can be used.
    Ready(Programs),
    /// No suitable toolchain is installed.
    Absent(String),
}

impl Language {
    /// A command that succeeds if a suitable toolchain is installed, and what it looks for.
    fn check(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            Self::Python => (
                "python3",
                &["-c", "import sys, venv; sys.exit(sys.version_info < (3, 10))"],
                "python3 3.10 or newer with venv",
            ),
            Self::Js => (
                "node",
                &["-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)"],
                "node 20 or newer",
            ),
            Self::Go => ("go", &["version"], "go"),
            Self::Java => ("mvn", &["--version"], "mvn with a JDK 17 or newer"),
            // It runs this program.
            Self::Rust => ("cargo", &["--version"], "cargo"),
        }
    }
}

pub(super) fn install(sdk: &'static Sdk, sources: &Path, target: &Path) -> Result<Installed> {
    if let Some(reason) = &sdk.absent {
        return Ok(Installed::Absent(reason.clone()));
    }
    let (program, arguments, wanted) = sdk.language.check();
    if !process::succeeds(Command::new(program).args(arguments)) {
        return Ok(Installed::Absent(format!("{wanted} is not installed")));
    }
    let launch = match sdk.language {
        Language::Python => python(&sources.join(&sdk.folder), &target.join(&sdk.name)),
        Language::Js => js(sdk, sources, target),
        Language::Go => go(&sources.join(&sdk.folder), &target.join(&sdk.name)),
        Language::Java => java(&sources.join(&sdk.folder), &target.join(&sdk.name)),
        Language::Rust => rust(&sources.join(&sdk.folder), &target.join(&sdk.name), target),
    }?;
    Ok(Installed::Ready(Programs { sdk, launch }))
}

/// Creates a virtual environment; the drivers run in place.
fn python(sources: &Path, target: &Path) -> Result<Launch> {
    fs::create_dir_all(target)?;
    let requirements = sources.join("requirements.txt");
    let interpreter = target.join("bin/python");
    once(&requirements, &target.join("installed"), || {
        process::succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(target))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        process::succeed(Command::new(&interpreter).args(pip).arg(&requirements))
    })?;
    Ok(Launch::Script { interpreter, folder: sources.to_owned(), extension: "py" })
}

/// Copies the drivers, because modules are resolved relative to the importing file: each version
/// needs its own `node_modules`. Versions of one SDK share code, so they are copied together, and so
/// are files next to the directory of a framework.
fn js(sdk: &Sdk, sources: &Path, target: &Path) -> Result<Launch> {
    let shared = if sdk.folder.starts_with("js") { "js" } else { &*sdk.folder };
    copy(&sources.join(shared), &target.join(shared))?;
    if let Some((parent, _)) = shared.rsplit_once('/') {
        for entry in fs::read_dir(sources.join(parent))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), target.join(parent).join(entry.file_name()))?;
            }
        }
    }
    let folder = target.join(&sdk.folder);
    once(&folder.join("package-lock.json"), &folder.join("installed"), || {
        let ci = ["ci", "--no-audit", "--no-fund", "--loglevel", "error"];
        process::succeed(Command::new("npm").args(ci).current_dir(&folder))
    })?;
    Ok(Launch::Script { interpreter: "node".into(), folder, extension: "mjs" })
}

/// Builds `client` and `server`.
fn go(sources: &Path, target: &Path) -> Result<Launch> {
    fs::create_dir_all(target)?;
    let build = ["build", "-buildvcs=false", "-mod=readonly", "-o"];
    let mut go = Command::new("go");
    go.args(build).arg(target).args(["./client", "./server"]).current_dir(sources);
    process::succeed(&mut go)?;
    Ok(Launch::Executable { folder: target.to_owned() })
}

/// Builds a jar with both programs.
fn java(sources: &Path, target: &Path) -> Result<Launch> {
    fs::create_dir_all(target)?;
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "package"]);
    maven.arg(format!("-DbuildDirectory={}", target.display())).current_dir(sources);
    process::succeed(&mut maven)?;
    Ok(Launch::Jar(target.join("quarkus-app/quarkus-run.jar")))
}

/// Builds `client` and `server` in a workspace of their own. Workspaces share a build directory, as
/// most of their dependencies are the same.
fn rust(sources: &Path, target: &Path, shared: &Path) -> Result<Launch> {
    let shared = shared.join("rust-build");
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--locked", "--bins", "--manifest-path"]);
    build.arg(sources.join("Cargo.toml")).arg("--target-dir").arg(&shared);
    process::succeed(&mut build)?;
    fs::create_dir_all(target)?;
    for program in ["client", "server"] {
        fs::copy(shared.join("debug").join(program), target.join(program))?;
    }
    Ok(Launch::Executable { folder: target.to_owned() })
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
