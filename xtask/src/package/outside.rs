//! Builds and tests packages without the workspace that they come from.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::published::Package;
use crate::{Result, test, workspace};

/// Below the target directory: a workspace of packages only.
const FOLDER: &str = "outside";

/// Packs `packages`, unpacks them side by side, and runs their unit tests and doctests with default
/// and with all features.
///
/// Tests in `tests/` are not packed: they use crates that are not published.
pub(super) fn test(packages: &[Package]) -> Result {
    let start = Instant::now();
    let target = workspace::root().join("target");
    println!("[1/4] packing {} crates", packages.len());
    pack(packages, &target)?;
    println!("[2/4] unpacking them into {}", workspace::relative(&target.join(FOLDER)));
    let folder = unpack(packages, &target)?;
    let mut failed = 0;
    for (step, features) in [(3, None), (4, Some("--all-features"))] {
        let name = features.unwrap_or("default features").trim_start_matches("--");
        println!("[{step}/4] building and testing with {name}");
        let begin = Instant::now();
        let mut command = workspace::cargo();
        command.current_dir(&folder).args(["test", "--workspace", "--no-fail-fast"]).args(features);
        // Dependencies are those of the workspace, and are not built again.
        command.arg("--target-dir").arg(&target);
        let total = test::count(&mut command, false)?;
        let seconds = begin.elapsed().as_secs();
        println!("{name}: {} passed, {} failed, {seconds} s", total.passed, total.failed);
        failed += total.failed;
    }
    if failed > 0 {
        return Err(format!("{failed} tests failed outside of the workspace").into());
    }
    println!("{} packages build and pass, {} s", packages.len(), start.elapsed().as_secs());
    Ok(())
}

fn pack(packages: &[Package], target: &Path) -> Result {
    let mut command = workspace::cargo();
    command.args(["package", "--no-verify", "--allow-dirty", "--quiet", "--target-dir"]);
    command.arg(target).args(packages.iter().flat_map(|package| ["-p", &package.name]));
    run(&mut command)
}

/// Returns the folder of the workspace of packages.
fn unpack(packages: &[Package], target: &Path) -> Result<PathBuf> {
    let folder = target.join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let (mut members, mut patches) = (String::new(), String::new());
    for package in packages {
        let name = &package.name;
        let unpacked = format!("{name}-{}", package.version);
        let archive = target.join("package").join(format!("{unpacked}.crate"));
        run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&folder))?;
        members.push_str(&format!("    {unpacked:?},\n"));
        patches.push_str(&format!("{name} = {{ path = {unpacked:?} }}\n"));
    }
    // The profile is that of the workspace, so that both share the builds of dependencies.
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\n{members}]\n\n[patch.crates-io]\n{patches}\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(workspace::root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(folder)
}

fn run(command: &mut Command) -> Result {
    if command.status()?.success() { Ok(()) } else { Err(format!("{command:?} failed").into()) }
}
