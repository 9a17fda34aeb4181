//! Checks the units and manifests of `docs/deploy/` with the tools of systemd and Kubernetes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::page::Page;
use crate::{
    Result,
    process::{succeed, succeeds},
    workspace,
};

/// Largest exposure of a unit that `systemd-analyze security` accepts, in tenths.
const MAX_EXPOSURE: &str = "--threshold=25";

/// The package and its version that validates manifests.
const VALIDATOR: &str = "kubernetes-validate==1.37.0";

/// Checks every unit and manifest of a page. A missing tool is reported on standard error.
pub(super) fn check(page: &Page) -> Result {
    if !page.name.starts_with("docs/deploy/") {
        return Ok(());
    }
    let folder = workspace::root().join("target/book-deploy");
    fs::create_dir_all(&folder)?;
    for block in page.blocks() {
        if block.language == "ini" && block.text.contains("[Install]") {
            unit(&folder, &block.text)?;
        } else if block.language == "yaml" && block.text.starts_with("apiVersion") {
            manifest(&folder, &block.text)?;
        }
    }
    Ok(())
}

fn unit(folder: &Path, text: &str) -> Result {
    if !succeeds(Command::new("systemd-analyze").arg("--version")) {
        return skip("systemd units", "systemd-analyze is not installed");
    }
    let path = folder.join("a2a.service");
    // The program is not installed here.
    fs::write(&path, text.replace("/usr/local/bin/a2a", "/bin/true"))?;
    succeed(Command::new("systemd-analyze").arg("verify").arg(&path))?;
    let arguments = ["security", "--offline=true", "--no-pager", MAX_EXPOSURE];
    succeed(Command::new("systemd-analyze").args(arguments).arg(&path).stdout(Stdio::null()))
}

fn manifest(folder: &Path, text: &str) -> Result {
    let Some(validate) = validator() else {
        return skip("Kubernetes manifests", &format!("{VALIDATOR} can't be installed from PyPI"));
    };
    let path = folder.join("manifest.yaml");
    fs::write(&path, text)?;
    succeed(Command::new(validate).args(["--strict", "--quiet"]).arg(path))
}

/// The program that validates manifests, which is installed if needed.
fn validator() -> Option<PathBuf> {
    let venv = workspace::root().join("target/kubernetes-validate");
    let program = venv.join("bin/kubernetes-validate");
    if !program.exists() {
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv)).ok()?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VALIDATOR];
        succeed(Command::new(venv.join("bin/python")).args(pip)).ok()?;
    }
    Some(program)
}

fn skip(what: &str, why: &str) -> Result {
    eprintln!("NOT CHECKED: {what}: {why}");
    Ok(())
}
