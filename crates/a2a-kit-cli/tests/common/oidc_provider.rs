//! A real OpenID Connect provider: `oidc-provider` on Node.js, at the version in
//! `tests/interop/oauth`.
#![allow(clippy::explicit_write, reason = "the harness captures `eprintln` of passing tests")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _, stderr},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::OnceLock,
};

/// A running provider, which ends with its test.
#[derive(Debug)]
pub(crate) struct OidcProvider {
    pub(crate) url: String,
    child: Child,
    /// Kept open: it ends when it can't print its notices.
    _stdout: BufReader<ChildStdout>,
}

impl OidcProvider {
    /// Starts a provider whose access tokens live for some seconds. `None`, after a line on standard
    /// error, if Node.js or the packages are not available.
    pub(crate) fn start(lifetime: u32) -> Option<Self> {
        static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        let folder = match INSTALLED.get_or_init(install) {
            Ok(folder) => folder,
            Err(reason) => {
                let thread = std::thread::current();
                let test = thread.name().unwrap_or("a test");
                writeln!(stderr(), "SKIPPED {test}: no oidc-provider: {reason}").unwrap();
                return None;
            }
        };
        let mut child = Command::new("node")
            .args(["server.mjs", &lifetime.to_string()])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "the provider ended");
        Some(Self { url: url.trim().to_owned(), child, _stdout: stdout })
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Installs the packages of the lock file, once for each version of it.
fn install() -> Result<PathBuf, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/oauth");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oidc-provider");
    let is_node = "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)";
    succeed(Command::new("node").args(["-e", is_node]), "node 18 or newer")?;
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for name in ["package.json", "package-lock.json", "server.mjs"] {
        fs::copy(sources.join(name), folder.join(name)).map_err(|error| error.to_string())?;
    }
    let wanted = fs::read(sources.join("package-lock.json")).map_err(|error| error.to_string())?;
    let marker = folder.join("installed");
    if fs::read(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    let arguments = ["ci", "--no-audit", "--no-fund", "--loglevel", "error"];
    succeed(Command::new("npm").args(arguments).current_dir(&folder), "npm ci")?;
    fs::write(marker, wanted).map_err(|error| error.to_string())?;
    Ok(folder)
}

fn succeed(command: &mut Command, what: &str) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr);
            Err(format!("{what} failed: {}", reason.lines().next().unwrap_or_default()))
        }
        Err(error) => Err(format!("{what} failed: {error}")),
    }
}
