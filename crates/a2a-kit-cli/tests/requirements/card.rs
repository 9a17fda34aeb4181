//! `a2a card get`, with what it checks.

use a2a_kit_auth::jose::{Algorithm, SigningKey};
use serde_json::json;

use crate::support::{Agent, Sandbox, assert_failure, failure, over_each_binding};

#[test]
fn card_get_001_old_paths_and_old_cards_are_found_and_a_missing_one_is_named() {
    let agent = Agent::demo();
    let missing = format!("{}/nothing.json", agent.url());
    for reference in [missing.as_str(), "./nothing.json"] {
        let run = agent.sandbox.run(&["card", "get", "-a", reference, "-o", "json"]);
        assert_failure(&run, "A2ACLI_ERR_CARD_NOT_FOUND", 3);
        assert!(run.stdout.contains("nothing.json"), "{run:?}");
    }
    let none = agent.sandbox.run(&["card", "get", "-o", "json"]);
    assert_failure(&none, "A2ACLI_ERR_USAGE", 2);
    let hint = failure(&none)["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("--agent-card") && hint.contains("A2ACLI_AGENT_CARD"), "{hint}");
    let variable = [("A2ACLI_AGENT_CARD", agent.reference.as_str())];
    let by_variable = agent.sandbox.run_with(&["card", "get"], &variable);
    assert_eq!(by_variable.field("Name"), "Demo agent");
    // A card of 0.3 is shown in the form of 1.0.
    let old = json!({
        "name": "Old", "description": "", "version": "1", "protocolVersion": "0.3.0",
        "url": "http://127.0.0.1:1/rpc", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [],
    });
    let file = agent.sandbox.write("old.json", old.to_string());
    let shown = agent.sandbox.run(&["card", "get", "-a", &file, "-o", "json"]).json();
    let interface = &shown["supportedInterfaces"][0];
    assert_eq!(interface["url"], "http://127.0.0.1:1/rpc", "{shown}");
    assert_eq!(interface["protocolVersion"], "0.3", "{shown}");
    let verbose = agent.sandbox.run(&["card", "get", "-a", &file, "--verbose"]);
    assert!(verbose.stdout.contains("0.3"), "{verbose:?}");
}

#[test]
fn card_get_002_the_received_bytes_are_checked() {
    let sandbox = Sandbox::new();
    for (content, exit) in [("{\"name\": \"x\"}", 1), ("[]", 1), ("<html>", 1), ("", 1)] {
        let file = sandbox.write("card.json", content);
        let run = sandbox.run(&["card", "get", "--validate", "-a", &file, "-o", "json"]);
        assert_failure(&run, "A2ACLI_ERR_CARD_INVALID", exit);
    }
    let file = sandbox.write("card.json", "{\"name\": \"x\"}");
    let run = sandbox.run(&["card", "get", "--validate", "-a", &file, "-o", "json"]);
    let violations = failure(&run)["details"]["violations"].as_array().unwrap().clone();
    assert!(violations.len() > 2, "every violation is listed: {violations:?}");
}

#[test]
fn card_get_003_the_extended_card_needs_a_declared_scheme_and_is_fetched_with_it() {
    let agent = Agent::start(&["--extended-card-token", "right-token"]);
    let public = agent.json(&["card", "get"]);
    let skills = |card: &serde_json::Value| card["skills"].as_array().unwrap().len();
    over_each_binding(|binding| {
        let extended = ["card", "get", "--extended"];
        let bearer = [&extended[..], &["--bearer", "right-token"]].concat();
        let card = agent.json_over(binding, &bearer).json();
        assert_eq!(skills(&card), skills(&public) + 1, "{binding}");
        let none = agent.json_over(binding, &extended);
        assert_failure(&none, "A2ACLI_ERR_CREDENTIALS_MISSING", 4);
        let wrong = agent.json_over(binding, &[&extended[..], &["--bearer", "wrong"]].concat());
        assert_failure(&wrong, "A2ACLI_ERR_AUTH_FAILED", 4);
        // A credential of a scheme that the card does not declare is not sent.
        let other =
            agent.json_over(binding, &[&extended[..], &["--api-key", "right-token"]].concat());
        assert_eq!(other.code, 4, "{binding}: {other:?}");
        assert!(other.stderr.contains("warning: --api-key is not sent"), "{binding}: {other:?}");
    });
    let without = Agent::start(&["--no-extended-card"]);
    over_each_binding(|binding| {
        let run = without.json_over(binding, &["card", "get", "--extended"]);
        assert_failure(&run, "UnsupportedOperationError", 1);
    });
}

#[test]
fn card_get_004_a_signature_is_verified_unverifiable_or_absent() {
    let agent = Agent::demo();
    let sandbox = &agent.sandbox;
    for (name, algorithm) in [("one", Algorithm::Es256), ("two", Algorithm::EdDsa)] {
        let pem = SigningKey::generate_pem(algorithm).unwrap();
        let key = SigningKey::from_pem(&pem).unwrap();
        sandbox.write(&format!("{name}.pem"), &pem);
        let keys = json!({"keys": [key.public().clone().with_id(name)]});
        sandbox.write(&format!("{name}.json"), keys.to_string());
    }
    let card = agent.json(&["card", "get"]);
    sandbox.write("card.json", card.to_string());
    let sign = ["card", "sign", "card.json", "--key", "one.pem", "--kid", "one"];
    let signed = sandbox.run(&[&sign[..], &["--out", "signed.json"]].concat());
    assert_eq!(signed.code, 0, "{signed:?}");
    let text = std::fs::read_to_string(sandbox.home().join("signed.json")).unwrap();
    sandbox.write("changed.json", text.replace("Demo agent", "Other agent"));
    for (file, flags, expected) in [
        ("signed.json", &["--jwks", "one.json"][..], "verified (one)"),
        ("signed.json", &["--jwks", "two.json"], "unverifiable ("),
        ("signed.json", &[], "unverifiable ("),
        ("changed.json", &["--jwks", "one.json"], "unverifiable ("),
        ("card.json", &["--jwks", "one.json"], "absent"),
        ("card.json", &[], "absent"),
    ] {
        let run = sandbox.run(&[&["card", "get", "-a", file], flags].concat());
        assert_eq!(run.code, 0, "{file} {flags:?}: {run:?}");
        assert!(run.field("Signature").starts_with(expected), "{file} {flags:?}: {run:?}");
        let json = sandbox.run(&[&["card", "get", "-a", file, "-o", "json"], flags].concat());
        assert!(json.json()["name"].is_string(), "{json:?}");
        let line = format!("signature: {expected}");
        assert!(json.stderr.to_ascii_lowercase().contains(&line), "{file} {flags:?}: {json:?}");
    }
}
