//! `a2a conformance`.

use serde_json::Value;

use crate::support::{Agent, Sandbox, assert_failure, over_each_binding};

#[test]
fn conform_001_a_live_agent_is_checked_over_each_binding() {
    let agent = Agent::start(&["--allow-webhook", "127.0.0.1", "--protocol", "1.0"]);
    over_each_binding(|binding| {
        let run = agent.json_over(binding, &["conformance", "--profile", "demo"]);
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        let report = run.json();
        let results = report["results"].as_array().unwrap();
        assert!(results.len() > 20, "{binding}: {report}");
        let known = ["pass", "fail", "skip", "not_measured"];
        for result in results {
            assert!(known.contains(&result["result"].as_str().unwrap()), "{binding}: {result}");
            assert!(result["id"].as_str().unwrap().starts_with("R-"), "{binding}: {result}");
        }
        assert!(results.iter().any(|result| result["result"] == "pass"), "{binding}");
    });
}

#[test]
fn conform_001_an_agent_with_a_fault_fails_with_evidence() {
    let agent = Agent::start(&["--protocol", "1.0"]);
    let mut card: Value = agent.json(&["card", "get"]);
    card.as_object_mut().unwrap().remove("skills");
    let file = agent.sandbox.write("card.json", card.to_string());
    let check = ["conformance", "-a", &file, "--only", "R-338"];
    let run = agent.sandbox.run(&check);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("R-338") && run.stdout.contains("skills"), "{run:?}");
    let tolerated = agent.sandbox.run(&[&check[..], &["--exit-zero"]].concat());
    assert_eq!(tolerated.code, 0, "{tolerated:?}");
    let list = Sandbox::new().run(&["conformance", "--list"]);
    assert!(list.code == 0 && list.stdout.contains("R-338"), "{list:?}");
    let unreachable = Sandbox::new().run(&["conformance", "-a", "127.0.0.1:1", "-o", "json"]);
    assert_failure(&unreachable, "A2ACLI_ERR_UNREACHABLE", 3);
}
