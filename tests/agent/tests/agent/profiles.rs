//! The profiles, tokens and variables of conformance suites, and the profile for measurements.

use a2a_core::{Part, TaskState};
use serde_json::{Value, json};

use crate::common::{
    Run, Server, command, http,
    summary::{self, message, send, send_at_once, task},
};

#[test]
fn reduced_capabilities_are_not_declared() {
    let server = Server::start_with(&[], &[("ITK_ACTS_REDUCED_CAPABILITIES", "1")]);
    let card = server.json(&["card", "get"]);
    for name in ["streaming", "pushNotifications", "extendedAgentCard"] {
        assert_eq!(card["capabilities"][name], false, "{name}: {card}");
    }
    let run = server.run(&["card", "get", "--extended"]);
    assert!(run.stderr.starts_with("Error: UnsupportedOperationError\n"), "{run:?}");
}

#[test]
fn card_of_the_conformance_profile_has_its_input_modes_and_one_skill() {
    let server = Server::start(&["--profile", "conformance"]);
    let card = server.json(&["card", "get"]);
    let modes = json!(["text/plain", "application/json", "application/octet-stream"]);
    assert_eq!(card["defaultInputModes"], modes);
    assert_eq!(card["skills"].as_array().unwrap().len(), 1);
    let extended = server.json(&["card", "get", "--extended"]);
    assert_eq!(extended["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn demo_profile_knows_the_names_of_suites_and_its_own_words() {
    let server = Server::start(&[]);
    assert_eq!(server.run(&["send", "tck-reject-task"]).field("State"), "REJECTED");
    assert_eq!(server.run(&["send", "fail"]).field("State"), "FAILED");
    let echo = server.json(&["send", "hi", "--message-id", "acc-echo-1"]);
    assert_eq!(echo["task"]["status"]["message"]["parts"][0]["text"], "Echo: hi");
}

#[test]
fn conformance_profile_delivers_webhooks_to_the_loopback() {
    let server = Server::start(&["--profile", "conformance", "--default", "complete"]);
    let hook = ["send", "hello", "--push-url", "http://127.0.0.1:9/hook"];
    assert_eq!(server.run(&hook).code, 0);
}

#[tokio::test]
async fn insufficient_token_for_the_extended_card_is_denied_on_every_binding() {
    let server = Server::start(&["--extended-card-token", "secret"]);
    for binding in ["jsonrpc", "rest", "grpc"] {
        let get = ["card", "get", "--extended", "--transport", binding];
        let with = |token: &'static str| [&get[..], &["--bearer", token]].concat();
        for token in ["wrong", "itk-insufficient-token"] {
            let refused = server.run(&with(token));
            assert_eq!(refused.code, 4, "{binding}: {refused:?}");
            assert!(refused.stderr.contains("A2ACLI_ERR_AUTH_FAILED"), "{refused:?}");
        }
        assert_eq!(server.run(&with("secret")).code, 0, "{binding}");
    }
    let url = format!("{}/extendedAgentCard", server.url());
    for (token, status) in [("wrong", 401), ("itk-insufficient-token", 403), ("secret", 200)] {
        let headers = [("A2A-Version", "1.0"), ("Authorization", &*format!("Bearer {token}"))];
        assert_eq!(http("GET", &url, &headers, "").await.status(), status, "{token}");
    }
}

#[tokio::test]
async fn a_suite_can_ask_for_authentication_of_every_operation() {
    let server = Server::start_with(&[], &[("ITK_ACTS_AUTH", "1")]);
    assert_eq!(server.run(&["card", "get"]).code, 0);
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "t"}});
    let post = async |token: &str| {
        let headers = [
            ("A2A-Version", "1.0"),
            ("Content-Type", "application/json"),
            ("Authorization", &format!("Bearer {token}")),
        ];
        let response = http("POST", &server.url(), &headers, &body.to_string()).await;
        let challenge = response.headers().get("www-authenticate").cloned();
        let body: Value = serde_json::from_slice(response.body()).unwrap();
        (response.status().as_u16(), challenge, body)
    };
    // Beyond the limit of failed attempts of `a2a serve`.
    for _ in 0..30 {
        let (status, challenge, body) = post("nonsense").await;
        assert_eq!(status, 401);
        assert!(challenge.unwrap().to_str().unwrap().starts_with("Bearer realm="));
        assert_eq!((&body["id"], &body["error"]["code"]), (&json!(7), &json!(-31401)));
    }
    let (status, _, body) = post("itk-insufficient-token").await;
    assert_eq!((status, &body["error"]["code"]), (403, &json!(-31403)));
    let (status, _, body) = post("itk-valid-token").await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32001)));
    for binding in ["jsonrpc", "rest", "grpc"] {
        let send = ["send", "hello", "--transport", binding];
        assert_eq!(server.run(&send).code, 4, "{binding}");
        let admitted = [&send[..], &["--bearer", "itk-valid-token"]].concat();
        assert_eq!(server.run(&admitted).code, 0, "{binding}");
    }
}

#[tokio::test]
async fn profile_for_measurements_knows_its_own_words_only() {
    let server = Server::start(&["--profile", "bench"]);
    let client = summary::client(&server.url());
    let echo = task(send(&client, message("tck-reject-task", "stream 5")).await);
    assert_eq!(echo.state(), TaskState::Completed);
    assert_eq!(echo.text(), "Echo: stream 5");
    let streamed = task(send(&client, message("m", "stream:3")).await);
    let parts: Vec<_> = streamed.artifacts[0].parts.iter().filter_map(Part::as_text).collect();
    assert_eq!(
        parts,
        [
            "chunk 0000 of the streamed answer",
            "chunk 0001 of the streamed answer",
            "chunk 0002 of the streamed answer"
        ]
    );
    let with_history = task(send(&client, message("m", "history:5")).await);
    assert_eq!(with_history.history.len(), 5);
    let held = task(send_at_once(&client, message("m", "hold")).await);
    assert!(!held.state().is_settled());
}

#[test]
fn unknown_profile_is_a_usage_error() {
    let run = Run::of(command().args(["serve", "--profile", "demos"]));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("expected demo, conformance, bench or bench-defaults"), "{run:?}");
}
