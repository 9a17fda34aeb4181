//! Locates or installs the programs of the servers.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

/// Timeout of `apt-get`, in seconds.
const INSTALL_SECONDS: u32 = 240;

/// Returns the program, installing its package if possible.
pub(crate) fn find_or_install(program: &str, package: &str) -> Result<PathBuf, String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    if let Some(found) = find(program) {
        return Ok(found);
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    install(package).map_err(|error| format!("{program} is not installed, and {error}"))?;
    find(program).ok_or_else(|| format!("the package {package} has no {program}"))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    versions()
        .into_iter()
        .chain(env::split_paths(&path))
        .chain(["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// The directories of the installed versions of PostgreSQL, newest first: on Debian they are not in
/// the path.
fn versions() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let folder = |number: u32| Path::new("/usr/lib/postgresql").join(number.to_string());
    numbers.into_iter().rev().map(|number| folder(number).join("bin")).collect()
}

fn install(package: &str) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can install it".to_owned());
    }
    let install = ["install", "-y", "--no-install-recommends", package];
    if apt(&install).is_ok() {
        return Ok(());
    }
    apt(&["update"])?;
    apt(&install)
}

fn apt(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("timeout")
        .arg(INSTALL_SECONDS.to_string())
        .args(["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // In this run level packages don't start their services.
        .env("RUNLEVEL", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("apt-get does not run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let last = message.lines().last().unwrap_or("no output");
    Err(format!("apt-get {} failed: {last}", arguments.join(" ")))
}
