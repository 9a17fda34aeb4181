//! Tests the requirements of the CLI specification, and writes a report.
//!
//! The tests are in `crates/a2a-kit-cli/tests/requirements`; each is named for its requirement. They
//! run against our own agents, and those in `any_agent` against agents of other SDKs too. Statuses,
//! defaults and error codes come from the results and from the evidence that the tests record.

mod error_code;
mod evidence;
mod report;
mod requirement;
mod run;
mod status;
mod yaml;

use std::{fs, path::PathBuf};

use self::{
    evidence::Evidence,
    run::{Agent, Run},
    status::Assessment,
};
use crate::{Result, interop, workspace};

/// The SDKs whose agents are called, as in `tests/interop/peers.toml`.
const SDKS: [&str; 2] = ["python", "js"];

/// The arguments of `cargo xtask compliance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Test against our own agents only
    #[arg(long)]
    ours: bool,
    /// The report to write, from the root of the workspace
    #[arg(long, default_value = "docs/development/compliance-report.yaml")]
    report: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result {
    let folder = workspace::root().join("target/compliance");
    fs::create_dir_all(&folder)?;
    let mut runs = vec![Run::of(&Agent::ours(), &folder)?];
    let mut skipped = Vec::new();
    for sdk in SDKS.into_iter().filter(|_| !args.ours) {
        match interop::start_agent(sdk)? {
            interop::Peer::Running { name, server } => {
                runs.push(Run::of(&Agent::foreign(&name, &server.address), &folder)?);
            }
            interop::Peer::Absent { name, reason } => {
                eprintln!("SKIPPED: {name}: {reason}");
                skipped.push(format!("{name}: {reason}"));
            }
        }
    }
    let mut evidence = Evidence::default();
    for run in &runs {
        evidence.read(&run.evidence)?;
    }
    let assessment = Assessment::of(&runs, &evidence);
    for mistake in &assessment.mistakes {
        eprintln!("error: {mistake}");
    }
    let report = workspace::root().join(&args.report);
    workspace::write_or_check(&report, &report::yaml(&assessment, &runs, &skipped)?, false)?;
    for requirement in assessment.requirements.iter().filter(|one| !one.status.is_pass()) {
        let note = requirement.note.as_deref().unwrap_or_default();
        println!("{}: {}: {note}", requirement.row.id, requirement.status);
    }
    for reason in &skipped {
        println!("SKIPPED: {reason}");
    }
    println!("{}", assessment.summary());
    if assessment.is_complete() {
        Ok(())
    } else {
        Err("requirements are not met, see above".into())
    }
}
