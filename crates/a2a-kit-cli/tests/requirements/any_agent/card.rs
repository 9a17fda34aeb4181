//! `a2a card get`.

use serde_json::Value;

use crate::support::{Agent, assert_failure, failure, over_each_binding};

#[test]
fn card_get_001_a_card_is_read_from_host_url_and_file() {
    let agent = Agent::under_test();
    let card = agent.json(&["card", "get"]);
    let origin = agent.reference.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let file = agent.sandbox.write("card.json", card.to_string());
    let references = [
        origin.clone(),
        format!("http://{origin}"),
        format!("http://{origin}/.well-known/agent-card.json"),
        file.clone(),
        "./card.json".to_owned(),
        "card.json".to_owned(),
        format!("file://{file}"),
    ];
    for reference in &references {
        let run = agent.sandbox.run(&["card", "get", "-a", reference, "-o", "json"]);
        assert_eq!(run.json(), card, "{reference}");
    }
    assert!(card["supportedInterfaces"].as_array().unwrap().len() >= 3, "{card}");
}

#[test]
fn card_get_001_text_shows_what_the_card_declares() {
    let agent = Agent::under_test();
    let card = agent.json(&["card", "get"]);
    let text = agent.run(&["card", "get"]);
    for (label, member) in
        [("Name", "name"), ("Description", "description"), ("Version", "version")]
    {
        assert_eq!(Some(text.field(label)), card[member].as_str(), "{text:?}");
    }
    let line = |interface: &Value| {
        let member = |name: &str| interface[name].as_str().unwrap().to_owned();
        let url = member("url");
        format!("{} {} {url}", member("protocolBinding"), member("protocolVersion"))
    };
    let interfaces: Vec<_> = card["supportedInterfaces"].as_array().unwrap().iter().collect();
    for interface in &interfaces {
        assert!(text.stdout.contains(&format!("\nInterface: {}", line(interface))), "{text:?}");
    }
    assert_eq!(text.field("Selected interface"), line(interfaces[0]));
    for label in ["Streaming", "Push notifications", "Extended card"] {
        assert_eq!(text.field(label), "yes");
    }
    for skill in card["skills"].as_array().unwrap() {
        let skill = format!("\nSkill: {}: ", skill["id"].as_str().unwrap());
        assert!(text.stdout.contains(&skill), "{text:?}");
    }
    assert_eq!(text.field("Signature"), "absent");
}

#[test]
fn card_get_001_the_card_determines_the_transport() {
    let agent = Agent::under_test();
    let card = agent.json(&["card", "get"]);
    over_each_binding(|binding| {
        let mut only = card.clone();
        let interfaces = only["supportedInterfaces"].as_array_mut().unwrap();
        interfaces.retain(|interface| {
            let name = interface["protocolBinding"].as_str().unwrap();
            name.eq_ignore_ascii_case(binding) && interface["protocolVersion"] == "1.0"
        });
        assert_eq!(interfaces.len(), 1, "{binding}");
        let file = agent.sandbox.write(&format!("{binding}.json"), only.to_string());
        let run = agent.sandbox.run(&["send", "echo hi", "-a", &file, "--debug", "-o", "json"]);
        assert_eq!(run.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{run:?}");
        let is_grpc = run.stderr.contains("> POST grpc://");
        let is_rpc = run.stderr.contains(r#""method":"Send"#);
        let expected = (binding == "grpc", binding == "jsonrpc");
        assert_eq!((is_grpc, is_rpc), expected, "{binding}: {}", run.stderr);
    });
}

#[test]
fn card_get_002_a_valid_card_passes_and_each_violation_of_another_is_listed() {
    let agent = Agent::under_test();
    let card = agent.json(&["card", "get", "--validate"]);
    assert!(card["name"].is_string());
    let mut broken = card;
    broken.as_object_mut().unwrap().remove("name");
    broken.as_object_mut().unwrap().remove("version");
    broken["supportedInterfaces"][0].as_object_mut().unwrap().remove("url");
    let file = agent.sandbox.write("broken.json", broken.to_string());
    let run = agent.sandbox.run(&["card", "get", "--validate", "-a", &file, "-o", "json"]);
    assert_failure(&run, "A2ACLI_ERR_CARD_INVALID", 1);
    let details = failure(&run)["details"].to_string();
    for violation in ["name", "version", "url"] {
        assert!(details.contains(violation), "{violation}: {details}");
    }
}
