//! Catalogs of agent cards.

use serde_json::json;

use crate::support::{Agent, assert_failure, over_each_binding};

#[test]
fn card_get_005_a_catalog_entry_is_taken_wherever_a_card_reference_is() {
    let agent = Agent::demo();
    let card = agent.json(&["card", "get"]);
    let entries = json!([
        {"name": "remote", "url": agent.url()},
        {"name": "inline", "card": card},
        {"name": "elsewhere", "url": "http://127.0.0.1:1"},
    ]);
    let file = agent.sandbox.write("catalog.json", entries.to_string());
    let run = |reference: &str, arguments: &[&str]| {
        agent.sandbox.run(&[arguments, &["-a", reference, "-o", "json"]].concat())
    };
    for name in ["remote", "inline"] {
        for catalog in [file.clone(), format!("file://{file}"), "./catalog.json".to_owned()] {
            let reference = format!("catalog+{catalog}#{name}");
            let shown = run(&reference, &["card", "get"]).json();
            assert_eq!(shown["name"], card["name"], "{reference}");
            assert_eq!(shown["supportedInterfaces"], card["supportedInterfaces"], "{reference}");
        }
        let reference = format!("catalog+{file}#{name}");
        over_each_binding(|binding| {
            let sent = run(&reference, &["send", "echo hello", "--transport", binding]).json();
            assert_eq!(sent["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{reference}");
            let id = sent["task"]["id"].as_str().unwrap();
            let got = run(&reference, &["task", "get", id, "--transport", binding]).json();
            assert_eq!(got["id"], id, "{binding} {reference}");
        });
        let variable = [("A2ACLI_AGENT_CARD", reference.as_str())];
        let by_variable = agent.sandbox.run_with(&["send", "echo hello"], &variable);
        assert_eq!(by_variable.field("State"), "COMPLETED", "{reference}");
    }
    let missing = run(&format!("catalog+{file}#missing"), &["card", "get"]);
    assert_failure(&missing, "A2ACLI_ERR_CARD_NOT_FOUND", 3);
    assert!(missing.stdout.contains("missing"), "{missing:?}");
    let none = run("catalog+./none.json#remote", &["card", "get"]);
    assert_failure(&none, "A2ACLI_ERR_CARD_NOT_FOUND", 3);
    let nameless = run(&format!("catalog+{file}"), &["card", "get"]);
    assert_failure(&nameless, "A2ACLI_ERR_USAGE", 2);
}
