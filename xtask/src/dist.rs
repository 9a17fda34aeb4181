//! What packages contain besides the program: manual pages and completion scripts.

use std::{fs, process::Command};

use crate::{Result, workspace};

/// Shells and the names of their scripts, as the shells look for them.
const SCRIPTS: [(&str, &str); 5] = [
    ("bash", "a2a.bash"),
    ("zsh", "_a2a"),
    ("fish", "a2a.fish"),
    ("powershell", "_a2a.ps1"),
    ("elvish", "a2a.elv"),
];

/// Writes `target/dist/man` and `target/dist/completions`.
pub(crate) fn run() -> Result {
    let program = workspace::build(&["a2a"], false)?.join("a2a");
    let folder = workspace::root().join("target/dist");
    let (pages, scripts) = (folder.join("man"), folder.join("completions"));
    for folder in [&pages, &scripts] {
        // Without the files of commands that are gone.
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
    }
    workspace::output(Command::new(&program).arg("man").arg(&pages))?;
    for (shell, name) in SCRIPTS {
        let script = workspace::output(Command::new(&program).args(["completion", shell]))?;
        fs::write(scripts.join(name), script)?;
    }
    println!(
        "wrote {} manual pages to {}, and {} scripts to {}",
        fs::read_dir(&pages)?.count(),
        workspace::relative(&pages),
        SCRIPTS.len(),
        workspace::relative(&scripts)
    );
    Ok(())
}
