//! Interfaces, tenants, versions and capabilities, as the card declares them.

use serde_json::{Value, json};

use crate::{
    common::foreign::{Answer, Foreign},
    support::{Agent, BINDINGS, assert_failure, failure, over_each_binding},
};

fn message() -> Answer {
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
    Answer::Result(json!({ "message": message }))
}

#[test]
fn tx_001_the_first_interface_of_the_card_is_used() {
    for first in BINDINGS {
        let others = BINDINGS.into_iter().filter(|binding| *binding != first);
        let order: Vec<_> =
            [first].into_iter().chain(others).flat_map(|one| ["--transport", one]).collect();
        let agent = Agent::start(&order);
        let run = agent.run(&["send", "echo hello", "--debug"]);
        assert_eq!(run.field("State"), "COMPLETED", "{first}: {run:?}");
        let is_grpc = run.stderr.contains("> POST grpc://");
        let is_rpc = run.stderr.contains(r#""method":"Send"#);
        assert_eq!((is_grpc, is_rpc), (first == "grpc", first == "jsonrpc"), "{first}: {run:?}");
    }
}

#[test]
fn tx_002_unknown_bindings_and_versions_are_skipped_and_wanted_ones_come_first() {
    let foreign = Foreign::start_with(&[("SendMessage", vec![message()])], |card| {
        let mut unknown = card["supportedInterfaces"][0].clone();
        unknown["protocolBinding"] = "https://example.com/carrier-pigeon".into();
        let mut future = card["supportedInterfaces"][0].clone();
        future["protocolVersion"] = "2.0".into();
        let interfaces = card["supportedInterfaces"].as_array_mut().unwrap();
        interfaces.splice(0..0, [unknown, future]);
    });
    let run = Agent::at(&foreign.address).run(&["send", "x"]);
    assert_eq!(run.code, 0, "{run:?}");

    let agent = Agent::demo();
    let selected = |arguments: &[&str]| {
        let run = agent.run(&[&["card", "get"], arguments].concat());
        run.field("Selected interface").split(' ').next().unwrap().to_owned()
    };
    assert_eq!(selected(&["--transport", "grpc", "--transport", "jsonrpc"]), "GRPC");
    assert_eq!(selected(&["--transport", "rest", "--transport", "grpc"]), "HTTP+JSON");
    assert_eq!(selected(&["--transport", "Http+Json"]), "HTTP+JSON");
    // The order of the flags is that of preference, also where the first is missing.
    let without = Agent::start(&["--no-grpc"]);
    let run = without.run(&["send", "x", "--transport", "grpc", "--transport", "rest", "--debug"]);
    assert!(!run.stderr.contains("warning: ") && run.stderr.contains("/message:"), "{run:?}");
    let none = without.run(&["send", "x", "--transport", "grpc", "--debug"]);
    assert_eq!(none.code, 0, "{none:?}");
    assert!(none.stderr.contains("warning: "), "{none:?}");
    assert!(none.stderr.contains(r#""method":"Send"#), "{none:?}");
    let unknown = agent.run(&["send", "x", "--transport", "pigeon", "-o", "json"]);
    assert_failure(&unknown, "A2ACLI_ERR_USAGE", 2);
}

#[test]
fn tx_003_the_tenant_of_the_interface_is_in_each_request_and_absent_without_one() {
    let agent = Agent::demo();
    let card = agent.json(&["card", "get"]);
    let with = |tenant: Option<&str>| {
        let mut card = card.clone();
        for interface in card["supportedInterfaces"].as_array_mut().unwrap() {
            match tenant {
                Some(tenant) => interface["tenant"] = tenant.into(),
                None => drop(interface.as_object_mut().unwrap().remove("tenant")),
            }
        }
        agent.sandbox.write("card.json", card.to_string())
    };
    over_each_binding(|binding| {
        for tenant in [Some("Acme_1"), None] {
            let file = with(tenant);
            let run = |arguments: &[&str]| {
                let flags = ["-a", &file, "--transport", binding, "--debug"];
                agent.sandbox.run(&[arguments, &flags].concat())
            };
            let sent = run(&["send", "echo hello"]);
            let id = sent.field("Task ID").to_owned();
            for run in [
                &sent,
                &run(&["send", "stream 1", "--stream"]),
                &run(&["task", "get", &id]),
                &run(&["task", "list"]),
                &run(&["task", "cancel", &id]),
            ] {
                let requests = run.stderr.lines().filter(|line| line.contains("] > "));
                let requests: Vec<_> =
                    requests.filter(|line| !line.contains("/.well-known/")).collect();
                let requests = requests.join("\n");
                match tenant {
                    Some(tenant) if binding == "http+json" => {
                        assert!(requests.contains(&format!("/{tenant}/")), "{requests}");
                    }
                    Some(tenant) => {
                        let member = format!("\"tenant\":\"{tenant}\"");
                        assert!(requests.contains(&member), "{binding}: {requests}");
                    }
                    None => {
                        assert!(!requests.to_ascii_lowercase().contains("tenant"), "{requests}");
                        assert!(!requests.contains("Acme_1"), "{binding}: {requests}");
                    }
                }
            }
            // Another tenant does not see the task.
            let file = with(Some("another"));
            let flags = ["-a", &file, "--transport", binding, "-o", "json"];
            let other = agent.sandbox.run(&[&["task", "get", &id][..], &flags].concat());
            assert_failure(&other, "TaskNotFoundError", 1);
        }
    });
    let refused = agent.run(&["send", "x", "--tenant", "t", "-o", "json"]);
    assert_failure(&refused, "A2ACLI_ERR_USAGE", 2);
}

/// An agent whose card lists these versions.
fn versions(versions: &[&str]) -> Foreign {
    Foreign::start_with(&[("SendMessage", vec![message()])], |card| {
        let interface = card["supportedInterfaces"][0].clone();
        let of_version = |version: &&str| {
            let mut interface = interface.clone();
            interface["protocolVersion"] = (*version).into();
            interface
        };
        card["supportedInterfaces"] =
            versions.iter().map(of_version).collect::<Vec<Value>>().into();
    })
}

#[test]
fn ver_001_only_versions_within_1_x_are_selected_without_a_flag() {
    let both = versions(&["0.3", "1.0"]);
    assert_eq!(Agent::at(&both.address).run(&["send", "x"]).code, 0);
    assert_eq!(both.operations()[0].header("a2a-version"), Some("1.0"));
    for old in [&["0.3"][..], &["0.3", "0.2"]] {
        let foreign = versions(old);
        let run = Agent::at(&foreign.address).run(&["send", "x", "-o", "json"]);
        assert_failure(&run, "VersionNotSupportedError", 1);
        let hint = failure(&run)["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("--a2a-version 0.3"), "{hint}");
        assert!(foreign.operations().is_empty(), "nothing is sent");
    }
    let future = versions(&["2.0"]);
    let run = Agent::at(&future.address).run(&["send", "x", "-o", "json"]);
    assert_failure(&run, "VersionNotSupportedError", 1);
    assert!(future.operations().is_empty(), "nothing is sent");
    let agent = Agent::demo();
    for version in ["7.0", "latest", "1"] {
        let run = agent.run(&["send", "x", "--a2a-version", version, "-o", "json"]);
        let is_usage_error = run.code == 2;
        assert!(is_usage_error || version == "1", "{version}: {run:?}");
    }
    over_each_binding(|binding| {
        for version in ["1.0", "0.3"] {
            let run = agent.over(binding, &["send", "echo hello", "--a2a-version", version]);
            assert_eq!(run.field("State"), "COMPLETED", "{binding} {version}: {run:?}");
            let is_noted = run.stderr.contains(&format!("note: speaking version {version}"));
            assert_eq!(is_noted, version != "1.0", "{binding} {version}: {run:?}");
        }
    });
}

#[test]
fn ver_002_required_extensions_are_declared_with_each_request() {
    let uri = "https://example.com/extensions/required/v1";
    let agent = Agent::start(&["--required-extension", uri]);
    over_each_binding(|binding| {
        let without = agent.json_over(binding, &["send", "echo hello"]);
        assert_failure(&without, "ExtensionSupportRequiredError", 1);
        assert!(without.stdout.contains("--extension"), "{binding}: {without:?}");
        let other = "urn:other";
        let both = ["send", "echo hello", "--extension", other, "--extension", uri, "--debug"];
        let run = agent.over(binding, &both);
        assert_eq!(run.field("State"), "COMPLETED", "{binding}: {run:?}");
        let id = run.field("Task ID").to_owned();
        let header = run.stderr.lines().find(|line| line.contains("> a2a-extensions: ")).unwrap();
        assert!(header.contains(other) && header.contains(uri), "{binding}: {header}");
        let get = agent.over(binding, &["task", "get", &id, "--extension", uri]);
        assert_eq!(get.field("State"), "COMPLETED", "{binding}: {get:?}");
        let variables = [("A2ACLI_EXTENSION", uri), ("A2ACLI_TRANSPORT", binding)];
        let by_variable = agent.run_with(&["send", "echo hello"], &variables);
        assert_eq!(by_variable.field("State"), "COMPLETED", "{binding}: {by_variable:?}");
    });
}

#[test]
fn ver_003_capabilities_are_checked_on_the_card_before_a_call() {
    let foreign = Foreign::start_with(&[("SendMessage", vec![message()])], |card| {
        card["capabilities"] = json!({});
    });
    let agent = Agent::at(&foreign.address);
    for (arguments, code) in [
        (&["task", "subscribe", "t"][..], "UnsupportedOperationError"),
        (&["task", "subscribe", "t", "--stream"], "UnsupportedOperationError"),
        (&["card", "get", "--extended"], "UnsupportedOperationError"),
        (
            &["send", "x", "--push-url", "https://example.com/hook"],
            "PushNotificationNotSupportedError",
        ),
    ] {
        let run = agent.run(&[arguments, &["-o", "json"]].concat());
        assert_failure(&run, code, 1);
        assert!(foreign.operations().is_empty(), "{arguments:?}: nothing is sent");
    }
    let streamed = agent.run(&["send", "x", "--stream", "-o", "json"]);
    assert_eq!(streamed.code, 0, "{streamed:?}");
    assert!(streamed.stderr.contains("note: the agent does not stream"), "{streamed:?}");
    assert_eq!(foreign.operations()[0].method, "SendMessage");
    // Without a card, the agent decides.
    let server = Agent::start(&["--no-streaming", "--no-extended-card"]);
    over_each_binding(|binding| {
        let (id, _) = server.start_task(binding, "slow 20");
        for arguments in [&["task", "subscribe", &id][..], &["card", "get", "--extended"]] {
            let run = server.json_over(binding, arguments);
            assert_failure(&run, "UnsupportedOperationError", 1);
        }
        let url = if binding == "grpc" { server.reference.clone() } else { server.url() };
        let direct = ["task", "subscribe", &id, "-e", &url, "--transport", binding, "-o", "json"];
        let run = server.sandbox.run(&[&direct[..], &["--debug"]].concat());
        assert_failure(&run, "UnsupportedOperationError", 1);
        let asked = ["SubscribeToTask", ":subscribe"].iter().any(|name| run.stderr.contains(name));
        assert!(asked, "{binding}: the agent was asked: {run:?}");
    });
}
