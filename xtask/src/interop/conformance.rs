//! `a2a conformance` on the smallest agents of SDKs.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::{Result, workspace};

use super::{
    Bench,
    install::{self, Installed},
    sdk::{Programs, Sdk},
};

/// Time that a run on one agent may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A report of `a2a conformance`, as far as it is read here.
#[derive(Debug)]
struct Report {
    /// The requirements that the agent does not meet.
    findings: BTreeSet<String>,
    /// How many checks have each result.
    summary: String,
    duration: Duration,
}

impl Bench {
    /// Runs `a2a conformance` on agents that echo, and compares its findings with the expected ones.
    pub(super) fn conformance(&self, sdks: &[&'static Sdk]) -> Result {
        let mut mistakes = Vec::new();
        for sdk in sdks {
            let Some(expected) = &sdk.findings else { continue };
            let name = format!("{} {}", sdk.package, sdk.version);
            eprintln!("{name}: installing");
            let programs = match install::install(sdk, &self.sources, &self.target)? {
                Installed::Ready(programs) => programs,
                Installed::Absent(reason) => {
                    println!("SKIPPED: {name}: {reason}");
                    continue;
                }
            };
            let report = self.conformance_of(&programs)?;
            let seconds = report.duration.as_secs_f64();
            println!("{name}: {}, {seconds:.1} s", report.summary);
            for id in report.findings.difference(expected) {
                mistakes.push(format!("{name}: {id} is found, but not expected"));
            }
            for id in expected.difference(&report.findings) {
                mistakes.push(format!("{name}: {id} is expected, but not found"));
            }
            if report.duration > LIMIT {
                mistakes.push(format!("{name}: {seconds:.1} s are more than a minute"));
            }
        }
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("\n").into()) }
    }

    fn conformance_of(&self, sdk: &Programs) -> Result<Report> {
        let name = &sdk.sdk.name;
        let server = self.agent(sdk, &["--echo"], &format!("{name}-conformance"))?;
        let report = self.target.join(format!("{name}-conformance.json"));
        let mut command = Command::new(self.binaries.join("a2a"));
        command.args(["conformance", "--format", "json", "--exit-zero", "--agent-card"]);
        command.arg(&server.address).arg("--report").arg(&report);
        super::process::succeed(command.stdout(Stdio::null()))?;
        read(&serde_json::from_str(&workspace::read(&report)?)?)
            .ok_or_else(|| format!("{}: not a report", workspace::relative(&report)).into())
    }
}

fn read(report: &Value) -> Option<Report> {
    let results = report["results"].as_array()?.iter();
    let findings = results
        .filter(|result| result["result"] == "fail")
        .filter_map(|result| Some(result["id"].as_str()?.to_owned()))
        .collect();
    let counts = report["summary"].as_object()?.iter();
    let counts: Vec<_> = counts.map(|(result, count)| format!("{count} {result}")).collect();
    Some(Report {
        findings,
        summary: counts.join(", "),
        duration: Duration::from_millis(report["durationMs"].as_u64()?),
    })
}
