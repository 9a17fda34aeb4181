//! The same echo agent on other SDKs, each a package below `peers`.

use std::{
    env::{self, consts::EXE_SUFFIX},
    ffi::OsStr,
    fs, io,
    path::{self, Path},
    process::{Command, Stdio},
};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// A server to compare with. When it is ready, it prints one line of JSON: the addresses `http`
/// and `grpc`, the path `jsonrpc`, the prefix `rest`, its `name` and the `version` of its SDK.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The name, which is also the name of its folder.
    pub(crate) name: &'static str,
    language: Language,
}

#[derive(Clone, Copy, Debug)]
enum Language {
    Rust,
    Python,
    Js,
}

/// All have the three bindings, but their responses differ:
///
/// - `a2a-lf` streams a status, N artifact updates and a status for `stream:N`. It has to be started
///   on one core: on more, it ends some of the streams of more than 30 updates with an error.
/// - `a2a-protocol-sdk` streams a task before these, so one event more. Its response to a message
///   has no history unless the request sets a history length; `GetTask` returns the history.
///   With `returnImmediately`, the task is in the state `SUBMITTED`, not `WORKING`.
/// - `python` and `js` stream a task instead of the first status. The time that `js` takes grows
///   with the square of N.
pub(crate) static PEERS: [Peer; 4] = [
    Peer { name: "a2a-lf", language: Language::Rust },
    Peer { name: "a2a-protocol-sdk", language: Language::Rust },
    Peer { name: "python", language: Language::Python },
    Peer { name: "js", language: Language::Js },
];

impl Peer {
    /// Builds or installs the server below `target`, unless that was done before, and returns
    /// the command that starts it.
    ///
    /// # Errors
    ///
    /// If a tool is missing, or a command fails.
    pub(crate) fn prepare(&self, target: &Path) -> Result<Command, String> {
        let sources = Path::new(SOURCES).join(self.name);
        let target = path::absolute(target.join(self.name))
            .and_then(|target| fs::create_dir_all(&target).map(|()| target))
            .map_err(|error| format!("{}: {error}", target.display()))?;
        match self.language {
            Language::Rust => rust(self.name, &sources, &target),
            Language::Python => python(&sources, &target),
            Language::Js => js(&sources, &target),
        }
        .map_err(|error| format!("{}: {error}", self.name))
    }
}

fn rust(name: &str, sources: &Path, target: &Path) -> Result<Command, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    need(&cargo, &["--version"], "cargo")?;
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--locked", "--manifest-path"]);
    build.arg(sources.join("Cargo.toml")).arg("--target-dir").arg(target);
    // Environment variables of this build must not affect the other one.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(changes_build) {
            build.env_remove(name);
        }
    }
    run(&mut build)?;
    let program = format!("a2a-bench-peer-{name}{EXE_SUFFIX}");
    Ok(Command::new(target.join("release").join(program)))
}

/// Whether an environment variable affects a cargo build or its output directory.
fn changes_build(variable: &str) -> bool {
    let prefixes = ["CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_UNSTABLE_", "RUSTC"];
    let names =
        ["CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"];
    names.contains(&variable) || prefixes.iter().any(|prefix| variable.starts_with(prefix))
}

/// Creates a virtual environment; the server runs in place.
fn python(sources: &Path, target: &Path) -> Result<Command, String> {
    let check = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))";
    need("python3", &["-c", check], "python3 3.10 or newer with venv")?;
    let requirements = sources.join("requirements.txt");
    let interpreter = target.join("bin/python");
    once(&requirements, &target.join("installed"), || {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(target))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        run(Command::new(&interpreter).args(pip).arg(&requirements))
    })?;
    let mut server = Command::new(interpreter);
    server.arg(sources.join("server.py"));
    Ok(server)
}

/// Copies the package, because Node resolves modules relative to the source.
fn js(sources: &Path, target: &Path) -> Result<Command, String> {
    let check = "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)";
    need("node", &["-e", check], "node 20 or newer")?;
    need("npm", &["--version"], "npm")?;
    for file in ["package.json", "package-lock.json", "server.js"] {
        fs::copy(sources.join(file), target.join(file))
            .map_err(|error| format!("{file}: {error}"))?;
    }
    once(&sources.join("package-lock.json"), &target.join("installed"), || {
        let ci = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
        run(Command::new("npm").args(ci).current_dir(target))
    })?;
    let mut server = Command::new("node");
    server.arg(target.join("server.js")).env("NODE_ENV", "production");
    Ok(server)
}

/// Calls `work` unless the stamp file `done` has the content of `wanted`.
fn once(
    wanted: &Path,
    done: &Path,
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let content = fs::read(wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
    if fs::read(done).is_ok_and(|done| done == content) {
        return Ok(());
    }
    work()?;
    fs::write(done, content).map_err(|error| format!("{}: {error}", done.display()))
}

/// Fails with the name of a tool unless its check succeeds.
fn need(program: impl AsRef<OsStr>, arguments: &[&str], tool: &str) -> Result<(), String> {
    let mut check = Command::new(program);
    check.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if check.status().is_ok_and(|status| status.success()) {
        Ok(())
    } else {
        Err(format!("{tool} is not installed"))
    }
}

/// Runs a command to its end. Its output goes to standard error; standard output is for results.
fn run(command: &mut Command) -> Result<(), String> {
    let name = format!("{command:?}");
    let status = command.stdin(Stdio::null()).stdout(io::stderr()).status();
    match status.map_err(|error| format!("{name}: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("{name}: {status}")),
    }
}
