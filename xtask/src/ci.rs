//! The steps of continuous integration, the cheap ones first.

use std::{process::Command, time::Instant};

use crate::{Result, workspace};

/// A step: its arguments to cargo, and what it needs in the environment.
struct Step {
    cargo: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// Tools that are installed if they are missing, with their versions.
const TOOLS: [(&str, &str); 2] = [("deny", "0.20.2"), ("hack", "0.6.46")];

const STEPS: [Step; 16] = [
    Step { cargo: &["fmt", "--all", "--check"], environment: &[] },
    Step { cargo: &["xtask", "tidy"], environment: &[] },
    Step { cargo: &["xtask", "book", "--check", "--fast"], environment: &[] },
    // Not `advisories`, whose database needs a network: see `NOT_CHECKED`.
    Step { cargo: &["deny", "check", "bans", "licenses", "sources"], environment: &[] },
    Step { cargo: &["xtask", "weight", "--check"], environment: &[] },
    Step { cargo: &["xtask", "schema", "--check"], environment: &[] },
    Step { cargo: &["xtask", "coverage", "--check"], environment: &[] },
    Step { cargo: &["xtask", "package", "--check"], environment: &[] },
    Step {
        cargo: &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        environment: &[],
    },
    Step {
        cargo: &["doc", "--workspace", "--no-deps", "--locked"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    // Each published crate alone, with each of its features alone: what the workspace as a whole
    // hides.
    Step {
        cargo: &[
            "hack",
            "check",
            "--workspace",
            "--ignore-private",
            "--each-feature",
            "--no-dev-deps",
        ],
        environment: &[],
    },
    Step {
        cargo: &["test", "-p", "a2a-kit-http", "--features", "aws-lc-rs", "--test", "tls"],
        environment: &[],
    },
    Step { cargo: &["xtask", "msrv"], environment: &[] },
    // Shares its builds with the documentation above.
    Step { cargo: &["xtask", "api", "--check"], environment: &[] },
    Step { cargo: &["xtask", "bench", "micro", "--if-installed"], environment: &[] },
    Step { cargo: &["xtask", "test"], environment: &[] },
];

/// What a maintainer checks instead, with a network (CONTRIBUTING.md).
const NOT_CHECKED: &str = "advisories on dependencies, whose database needs a network: `cargo xtask \
                           advisories --database DIR`";

pub(crate) fn run() -> Result {
    println!("=== not checked here: {NOT_CHECKED}");
    let start = Instant::now();
    for (tool, version) in TOOLS {
        install(tool, version)?;
    }
    for step in &STEPS {
        let name = format!("cargo {}", step.cargo.join(" "));
        println!("=== {name}");
        let begin = Instant::now();
        let status = command(step).status().map_err(|error| format!("{name}: {error}"))?;
        let seconds = begin.elapsed().as_secs_f64();
        if !status.success() {
            return Err(format!("{name} failed after {seconds:.0} s").into());
        }
        // The last step ends with the line that counts the tests; nothing is printed after it.
        if step.cargo != ["xtask", "test"] {
            println!(
                "=== {name}: {seconds:.0} s, {:.0} s since the start",
                start.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}

/// Installs a subcommand of cargo if it is missing, without optimizations: it runs for seconds.
fn install(tool: &str, version: &str) -> Result {
    let found = workspace::cargo().args([tool, "--version"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("=== CARGO-{} IS MISSING: installing version {version}", tool.to_uppercase());
    let name = format!("cargo-{tool}");
    let mut install = workspace::cargo();
    install.args(["install", "--locked", "--debug", &name, "--version", version]);
    install.env("CARGO_PROFILE_DEV_DEBUG", "0");
    if install.status()?.success() {
        return Ok(());
    }
    Err(format!("{name} {version} could not be installed, and CI needs it").into())
}

fn command(step: &Step) -> Command {
    let mut command = workspace::cargo();
    command
        .args(step.cargo)
        .envs(step.environment.iter().copied())
        // Nothing is built twice here or debugged, so incremental builds and line tables would only
        // cost time and disk space. `.ci/run`, which builds this program, sets the same.
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TERM_COLOR", "never");
    command
}
