//! Runs `a2a serve --model` against a mock of the model providers, and kills it; prints the results.
//!
//! The checks are in `tests/src/models` and `tests/src/bin/models`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Result, process, workspace};

/// The arguments of `cargo xtask models`.
///
/// The mock is `@copilotkit/aimock`, which npm installs below `target`. The last line is `N passed, N
/// failed`, without providers that are not served yet. Logs and stores are in `target/models`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only checks with this text in their name, PROVIDER/ROW; repeatable
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Print the names of the checks
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let binaries = workspace::build(&["a2a", "models"], false)?;
    let mut command = Command::new(binaries.join("models"));
    if args.list {
        return process::succeed(command.arg("--list"));
    }
    let target = workspace::root().join("target/models");
    let Some(mock) = install(&target.join("aimock"))? else {
        println!("SKIPPED: node 20.15 or newer, with npm, is not installed");
        return Ok(());
    };
    let folder = target.join("run");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let plan = serde_json::json!({
        "binary": binaries.join("a2a"),
        "mock": mock,
        "folder": folder,
        "only": args.only,
    });
    let status = command.arg(plan.to_string()).current_dir(workspace::root()).status()?;
    if status.success() { Ok(()) } else { Err("not all checks passed, see above".into()) }
}

/// Installs the mock at the version of the lock file; `None` without Node.js or npm.
fn install(folder: &Path) -> Result<Option<PathBuf>> {
    let is_recent = "const [major, minor] = process.versions.node.split('.').map(Number); \
        process.exit(major > 20 || (major === 20 && minor >= 15) ? 0 : 1)";
    if !process::succeeds(Command::new("node").args(["-e", is_recent]))
        || !process::succeeds(Command::new("npm").arg("--version"))
    {
        return Ok(None);
    }
    let sources = workspace::root().join("tests/interop/aimock");
    fs::create_dir_all(folder)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(sources.join(name), folder.join(name))?;
    }
    let wanted = fs::read(sources.join("package-lock.json"))?;
    let done = folder.join("installed");
    if !fs::read(&done).is_ok_and(|installed| installed == wanted) {
        let arguments = ["ci", "--no-audit", "--no-fund", "--loglevel", "error"];
        process::succeed(Command::new("npm").args(arguments).current_dir(folder))?;
        fs::write(done, wanted)?;
    }
    Ok(Some(folder.join("node_modules/@copilotkit/aimock/dist/cli.js")))
}
