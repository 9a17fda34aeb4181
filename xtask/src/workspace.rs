//! Paths and files of the workspace.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::Result;

/// Directories without handwritten files.
const NOT_OURS: [&str; 5] = [".git", ".venv", "__pycache__", "node_modules", "target"];

/// The directory of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// The cargo that started this task, so that both use the same toolchain.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs `command` and returns its standard output; the error has its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed: {message}").into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Builds programs with the features of the whole workspace, so that all tasks share the build, and
/// returns their directory.
pub(crate) fn build(programs: &[&str], release: bool) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--workspace"]);
    build.args(programs.iter().flat_map(|program| ["--bin", program]));
    if release {
        build.arg("--release");
    }
    if !build.status()?.success() {
        return Err("the build failed".into());
    }
    // The output directory of the cargo that built this program.
    let here = env::current_exe()?;
    let folder = here.parent().ok_or("the path of this program has no parent")?;
    if !release {
        return Ok(folder.to_path_buf());
    }
    let target = folder.parent().ok_or("the path of this program has no parent")?;
    Ok(target.join("release"))
}

/// Minutes as whole seconds.
pub(crate) fn seconds(minutes: f64) -> Result<u64> {
    Ok(Duration::try_from_secs_f64(minutes * 60.0)?.as_secs())
}

/// Every file and symbolic link below `folder`, sorted, without build output and downloads.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if !entry.file_type()?.is_dir() {
                found.push(entry.path());
            } else if !NOT_OURS.iter().any(|ignored| name == *ignored) {
                folders.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// `path` below the workspace, with forward slashes.
pub(crate) fn relative(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}

/// Reads a text file; the error names it.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", relative(path)).into())
}

/// Writes `content` to `path`, or with `check` compares them.
///
/// Returns whether the file was up to date; the first line that differs goes to standard error.
pub(crate) fn write_or_check(path: &Path, content: &str, check: bool) -> Result<bool> {
    let name = relative(path);
    if !check {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, content).map_err(|error| format!("{name}: {error}"))?;
        println!("wrote {name}");
        return Ok(true);
    }
    let existing = fs::read_to_string(path).unwrap_or_default();
    if existing == content {
        return Ok(true);
    }
    let same = existing.lines().zip(content.lines()).take_while(|(old, new)| old == new).count();
    eprintln!("{name} is out of date, first in line {}:", same + 1);
    eprintln!("- {}", existing.lines().nth(same).unwrap_or("(end of file)"));
    eprintln!("+ {}", content.lines().nth(same).unwrap_or("(end of file)"));
    Ok(false)
}
