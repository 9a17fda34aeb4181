//! `a2a conformance` against our own agents.

use crate::common::{Run, Server, command};
use serde_json::Value;

/// Runs the checks and returns the JSON report.
fn report(server: &Server, arguments: &[&str]) -> Value {
    let mut all = vec!["conformance", "--format", "json", "--exit-zero"];
    all.extend(arguments);
    server.run(&all).json()
}

/// The violations of a report, one a line.
fn failures(report: &Value) -> Vec<String> {
    let results = report["results"].as_array().unwrap().iter();
    results
        .filter(|result| result["result"] == "fail")
        .map(|result| {
            let place = result["interface"]["name"].as_str().unwrap_or("agent");
            format!("{} on {place}: {}", result["id"], result["findings"])
        })
        .collect()
}

fn count(report: &Value, outcome: &str) -> u64 {
    report["summary"][outcome].as_u64().unwrap()
}

#[test]
fn demo_agent_conforms_at_every_level_on_every_interface_of_its_card() {
    let server = Server::start(&["--allow-webhook", "127.0.0.1"]);
    let report = report(&server, &["--level", "may"]);
    assert_eq!(failures(&report), [""; 0]);
    assert!(count(&report, "pass") > 200, "{}", report["summary"]);
    assert_eq!(report["verdict"], "conformant as far as measured");
    assert_eq!(report["prompts"]["slow"], "slow 20", "{}", report["prompts"]);
    // What is left needs another agent or other flags, and says so.
    let results = report["results"].as_array().unwrap().iter();
    for result in results.filter(|result| result["result"] == "not_measured") {
        let reason = result["reason"].as_str().unwrap();
        let needs = ["--second-bearer", "no security scheme for its extended card"];
        assert!(needs.iter().any(|need| reason.contains(need)), "{result}");
    }
    // Everything about notifications and subscriptions was measured.
    for id in ["R-064", "R-080", "R-083", "R-084", "R-203", "R-058"] {
        let results = report["results"].as_array().unwrap().iter();
        let of_check: Vec<_> = results.filter(|result| result["id"] == id).collect();
        assert!(of_check.iter().all(|result| result["result"] == "pass"), "{id}: {of_check:?}");
    }
}

#[test]
fn agent_is_checked_without_knowing_its_words() {
    let server = Server::start(&["--echo"]);
    let report = report(&server, &["--level", "may"]);
    assert_eq!(failures(&report), [""; 0]);
    assert_eq!(report["prompts"].as_object().unwrap().len(), 1, "{}", report["prompts"]);
    assert_eq!(report["verdict"], "conformant as far as measured");
    // A task that may end by itself is not raced.
    for id in ["R-058", "R-061", "R-064"] {
        let results = report["results"].as_array().unwrap().iter();
        for result in results.filter(|result| result["id"] == id) {
            assert_eq!(result["result"], "not_measured", "{result}");
            assert!(result["reason"].as_str().unwrap().contains("--prompt-for slow="), "{result}");
        }
    }
}

#[test]
fn task_that_may_end_by_itself_is_not_canceled() {
    let server = Server::start(&["--exec", "sleep 0.1; cat"]);
    let run = server.run(&["conformance", "--only", "R-058", "--binding", "jsonrpc"]);
    assert!(run.stdout.contains("0 failed, 0 skipped, 1 not measured"), "{run:?}");
    assert!(run.stdout.contains("--prompt-for slow="), "{run:?}");
}

#[test]
fn unmeasured_requirements_fail_the_run_if_asked_to_unless_they_are_known() {
    let server = Server::start(&["--echo"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("known");
    let path = path.to_str().unwrap();
    let check = |arguments: &[&str]| {
        server
            .run(&[&["conformance", "--only", "R-058", "--binding", "jsonrpc"], arguments].concat())
    };
    let run = check(&[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("Texts: hello \"Hello from a2a conformance\", ask –"), "{run:?}");
    assert!(run.stdout.contains("Result: conformant as far as measured (0 passed"), "{run:?}");
    assert!(run.stdout.ends_with(" ms)\n"), "{run:?}");
    let run = check(&["--require-measured"]);
    assert_eq!(run.code, 1, "{run:?}");

    std::fs::write(path, "R-058 JSONRPC*: it echoes at once\nR-999: gone\n").unwrap();
    let run = check(&["--require-measured", "--known", path]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("because it echoes at once: R-058 (JSONRPC 1.0)"), "{run:?}");
    assert!(run.stdout.contains("neither failed nor unmeasured: R-999 *"), "{run:?}");
    assert!(run.stdout.contains("Result: conformant (0 passed, 0 failed"), "{run:?}");
    std::fs::write(path, "R-058\n").unwrap();
    let run = check(&["--known", path]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--known: ") && run.stderr.contains("line 1"), "{run:?}");
}

#[test]
fn agent_without_optional_capabilities_conforms() {
    let server = Server::start(&["--no-push", "--no-streaming", "--no-extended-card"]);
    let report = report(&server, &["--profile", "demo", "--level", "should"]);
    assert_eq!(failures(&report), [""; 0]);
    assert!(count(&report, "skip") > 0, "{}", report["summary"]);
}

#[test]
fn revisions_that_the_card_does_not_list_are_checked_if_they_are_named() {
    let server = Server::start(&[]);
    for version in ["0.1", "0.2", "draft"] {
        let report = report(&server, &["--profile", "demo", "--a2a-version", version]);
        assert_eq!(failures(&report), [""; 0], "{version}");
        assert!(count(&report, "pass") > 10, "{version}: {}", report["summary"]);
    }
}

#[test]
fn agent_that_cannot_be_reached_has_exit_status_3() {
    let run = Run::of(command().args(["conformance", "-a", "127.0.0.1:1"]));
    assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{run:?}");
}

#[test]
fn unknown_patterns_and_prompts_are_usage_errors() {
    for arguments in [["--only", "R-9999"], ["--prompt-for", "dance=x"], ["--level", "maybe"]] {
        let run = Run::of(command().arg("conformance").args(arguments).args(["-a", "127.0.0.1:1"]));
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
    }
}

#[test]
fn failed_check_has_exit_status_1_and_its_proof() {
    // A card whose interface is no agent.
    let server = Server::start(&["--protocol", "1.0"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    let mut card: Value = server.json(&["card", "get"]);
    card.as_object_mut().unwrap().remove("skills");
    std::fs::write(&path, card.to_string()).unwrap();
    let run = Run::of(command().args(["conformance", "--only", "R-338", "-a"]).arg(&path));
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("FAIL R-338 [must]"), "{run:?}");
    assert!(run.stdout.contains("`skills`"), "{run:?}");
}

#[test]
fn documentation_lists_every_check() {
    let run = Run::of(command().args([
        "conformance",
        "--list",
        "--level",
        "may",
        "--format",
        "markdown",
    ]));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance.md");
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.ends_with(&run.stdout), "docs/conformance.md lacks the checks of\n{}", run.stdout);
}
