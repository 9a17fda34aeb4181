//! A run of the requirement tests against one agent.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{Result, workspace};

/// The agent that the scenarios for any agent call.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) name: String,
    /// The address of its card; `None` for our own agents, which the tests start.
    address: Option<String>,
}

impl Agent {
    pub(super) fn ours() -> Self {
        Self { name: "a2a serve".to_owned(), address: None }
    }

    pub(super) fn foreign(name: &str, address: &str) -> Self {
        Self { name: name.to_owned(), address: Some(address.to_owned()) }
    }
}

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    Ignored,
}

/// The results of the tests against one agent.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) agent: String,
    /// The outcomes by the path of the test.
    pub(super) tests: BTreeMap<String, Outcome>,
    /// The file with the evidence.
    pub(super) evidence: PathBuf,
}

impl Run {
    /// Runs all tests, or for a foreign agent the scenarios for any agent.
    pub(super) fn of(agent: &Agent, folder: &Path) -> Result<Self> {
        let name: String =
            agent.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let evidence = folder.join(format!("{name}.jsonl"));
        // Without the evidence of an earlier run.
        fs::write(&evidence, "")?;
        let log = folder.join(format!("{name}.log"));
        // With the features of `cargo xtask test`, whose build it uses.
        let target = ["--workspace", "--test", "requirements"];
        if !workspace::cargo().args(["test", "--no-run"]).args(target).status()?.success() {
            return Err("the build failed".into());
        }
        println!("testing against {}, log in {}", agent.name, workspace::relative(&log));
        let mut cargo = workspace::cargo();
        cargo.arg("test").args(target).arg("--").env("A2A_COMPLIANCE_EVIDENCE", &evidence);
        if let Some(address) = &agent.address {
            cargo.arg("any_agent::");
            cargo
                .env("A2A_COMPLIANCE_AGENT", address)
                .env("A2A_COMPLIANCE_AGENT_NAME", &agent.name);
        }
        let mut child = cargo.stdout(Stdio::piped()).stderr(File::create(&log)?).spawn()?;
        let output = child.stdout.take().ok_or("cargo has no standard output")?;
        let mut tests = BTreeMap::new();
        for line in BufReader::new(output).lines() {
            let line = line?;
            match outcome(&line) {
                Some((test, outcome)) => {
                    tests.insert(test.to_owned(), outcome);
                    if outcome != Outcome::Passed {
                        println!("{line}");
                    }
                }
                // The output of failed tests, and of the harness itself.
                None => println!("{line}"),
            }
        }
        let status = child.wait()?;
        let has_failed = tests.values().any(|outcome| *outcome == Outcome::Failed);
        if tests.is_empty() || status.success() == has_failed {
            return Err(format!("{}: cargo test ended with {status}", agent.name).into());
        }
        Ok(Self { agent: agent.name.clone(), tests, evidence })
    }
}

/// The test and its outcome that a line of the test harness reports.
fn outcome(line: &str) -> Option<(&str, Outcome)> {
    let (test, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let outcome = match result {
        "ok" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        _ if result.starts_with("ignored") => Outcome::Ignored,
        _ => return None,
    };
    Some((test, outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_an_outcome_are_results() {
        assert_eq!(outcome("test a::b ... ok"), Some(("a::b", Outcome::Passed)));
        assert_eq!(outcome("test a::b ... FAILED"), Some(("a::b", Outcome::Failed)));
        assert_eq!(outcome("test a::b ... ignored, slow"), Some(("a::b", Outcome::Ignored)));
        for line in ["test result: ok. 1 passed", "running 3 tests", "test a::b ... okay", ""] {
            assert_eq!(outcome(line), None, "{line}");
        }
    }
}
