//! The six defaults of `DEFAULT_001`: each is observed without a flag, and overridden.

use a2a_test_certificates::Folder;
use serde_json::json;

use crate::{
    common::foreign::{Answer, Foreign},
    support::{Agent, BINDINGS, Default, overridden, shipped},
};

#[test]
fn default_001_transport_order_is_that_of_the_card() {
    for first in BINDINGS {
        let others = BINDINGS.into_iter().filter(|binding| *binding != first);
        let order: Vec<_> =
            [first].into_iter().chain(others).flat_map(|one| ["--transport", one]).collect();
        let agent = Agent::start(&order);
        let selected = agent.run(&["card", "get"]);
        let selected = selected.field("Selected interface").to_ascii_lowercase();
        assert!(selected.starts_with(&format!("{first} ")), "{first}: {selected}");
        shipped(Default::TransportOrder, first);
        for wanted in BINDINGS {
            let by_flag = agent.over(wanted, &["card", "get"]);
            let by_variable = agent.run_with(&["card", "get"], &[("A2ACLI_TRANSPORT", wanted)]);
            for run in [by_flag, by_variable] {
                let selected = run.field("Selected interface").to_ascii_lowercase();
                assert!(selected.starts_with(&format!("{wanted} ")), "{wanted}: {selected}");
            }
        }
        overridden(Default::TransportOrder, "--transport, A2ACLI_TRANSPORT");
    }
}

#[test]
fn default_001_send_waits_and_task_get_does_not() {
    let agent = Agent::demo();
    for binding in BINDINGS {
        let waited = agent.over(binding, &["send", "slow 1"]);
        assert_eq!(waited.field("State"), "COMPLETED", "{binding}");
        let by_flag = agent.over(binding, &["send", "slow 20", "--async"]);
        let variables = [("A2ACLI_ASYNC", "true"), ("A2ACLI_TRANSPORT", binding)];
        let by_variable = agent.run_with(&["send", "slow 20"], &variables);
        for run in [by_flag, by_variable] {
            assert!(["SUBMITTED", "WORKING"].contains(&run.field("State")), "{binding}: {run:?}");
        }
        let (id, _) = agent.start_task(binding, "slow 1");
        let once = agent.over(binding, &["task", "get", &id]);
        assert!(["SUBMITTED", "WORKING"].contains(&once.field("State")), "{binding}: {once:?}");
        let variables = [("A2ACLI_WAIT", "on"), ("A2ACLI_TRANSPORT", binding)];
        let waited = agent.run_with(&["task", "get", &id], &variables);
        assert_eq!(waited.field("State"), "COMPLETED", "{binding}");
    }
    shipped(Default::Wait, "send waits");
    overridden(Default::Wait, "--async, A2ACLI_ASYNC; --wait, A2ACLI_WAIT for task get");
}

#[test]
fn default_001_output_is_text() {
    let agent = Agent::demo();
    let text = agent.run(&["send", "echo hello"]);
    assert!(text.stdout.starts_with("Task ID: "), "{text:?}");
    shipped(Default::TextOutput, "text");
    let by_flag = agent.run(&["send", "echo hello", "-o", "json"]);
    let by_variable = agent.run_with(&["send", "echo hello"], &[("A2ACLI_OUTPUT", "json")]);
    for run in [by_flag, by_variable] {
        assert!(run.json()["task"].is_object(), "{run:?}");
    }
    overridden(Default::TextOutput, "--output json, A2ACLI_OUTPUT");
}

#[test]
fn default_001_output_is_concise() {
    let agent = Agent::demo();
    let concise = agent.run(&["send", "echo hello", "--message-metadata", "{\"k\": 1}"]);
    for absent in ["Role: ", "Message ID: ", "Timestamp: ", "Metadata:"] {
        assert!(!concise.stdout.contains(absent), "{absent}: {concise:?}");
    }
    shipped(Default::ConciseOutput, "concise");
    let send = ["send", "echo hello", "--message-metadata", "{\"k\": 1}"];
    let by_flag = agent.run(&[&send[..], &["--verbose"]].concat());
    let by_variable = agent.run_with(&send, &[("A2ACLI_VERBOSE", "yes")]);
    for run in [by_flag, by_variable] {
        for present in ["Role: USER", "Message ID: ", "Timestamp: ", "Metadata:"] {
            assert!(run.stdout.contains(present), "{present}: {run:?}");
        }
    }
    overridden(Default::ConciseOutput, "--verbose, A2ACLI_VERBOSE");
}

#[test]
fn default_001_version_is_the_highest_that_both_sides_list() {
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
    let foreign = Foreign::start_with(
        &[("SendMessage", vec![Answer::Result(json!({ "message": message }))])],
        |card| {
            let mut older = card["supportedInterfaces"][0].clone();
            older["protocolVersion"] = "0.3".into();
            card["supportedInterfaces"].as_array_mut().unwrap().insert(0, older);
        },
    );
    let agent = Agent::at(&foreign.address);
    assert_eq!(agent.run(&["send", "x"]).code, 0);
    let version = |foreign: &Foreign| {
        let sent = foreign.operations().pop().unwrap();
        sent.header("a2a-version").map(str::to_owned)
    };
    assert_eq!(version(&foreign).as_deref(), Some("1.0"));
    shipped(Default::HighestVersion, "1.0 of 0.3 and 1.0");
    let demo = Agent::demo();
    for (flags, variables) in
        [(&["--a2a-version", "0.3"][..], &[][..]), (&[], &[("A2ACLI_A2A_VERSION", "0.3")])]
    {
        let run = demo.run_with(&[&["send", "echo hello", "--debug"], flags].concat(), variables);
        assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
        assert!(run.stderr.contains("note: speaking version 0.3"), "{run:?}");
        assert!(run.stderr.contains(r#""method":"message/"#), "{run:?}");
    }
    overridden(Default::HighestVersion, "--a2a-version, A2ACLI_A2A_VERSION");
}

#[test]
fn default_001_certificates_are_verified() {
    let folder = Folder::new("root");
    folder.issue("server");
    let (certificate, key) = (folder.path("server.crt"), folder.path("server.key"));
    let server = Agent::start(&["--tls-cert", &certificate, "--tls-key", &key]);
    let agent = Agent::at(&format!("https://{}", server.reference));
    for binding in BINDINGS {
        let refused = agent.json_over(binding, &["send", "echo hello"]);
        crate::support::assert_failure(&refused, "A2ACLI_ERR_UNREACHABLE", 3);
        let flag = agent.over(binding, &["send", "echo hello", "--insecure"]);
        let variables = [("A2ACLI_INSECURE", "1"), ("A2ACLI_TRANSPORT", binding)];
        let variable = agent.run_with(&["send", "echo hello"], &variables);
        for run in [flag, variable] {
            assert_eq!(run.field("State"), "COMPLETED", "{binding}: {run:?}");
            assert!(run.stderr.contains("warning: certificates are not verified"), "{run:?}");
        }
    }
    shipped(Default::TlsVerification, "an unknown issuer is refused");
    overridden(Default::TlsVerification, "--insecure, A2ACLI_INSECURE");
}
