//! `a2a task` and `a2a card`, against the demo agent.

use crate::common::{Run, Server, command};

#[test]
fn a_task_is_shown_with_its_history_when_that_is_asked_for() {
    let server = Server::start(&[]);
    let sent = server.run(&["send", "hello"]);
    let id = sent.field("Task ID");
    let plain = server.run(&["task", "get", id]);
    assert_eq!(plain.stdout, sent.stdout);
    let with_history = server.run(&["task", "get", id, "--history", "5"]);
    assert!(with_history.stdout.contains("Role: USER\nText:\nhello\n\n"), "{with_history:?}");
    let json = server.json(&["task", "get", id]);
    assert_eq!(json["id"], id);
    let line = server.run(&["task", "get", id, "--stream", "-o", "json"]);
    assert_eq!(line.stdout.lines().count(), 1);
}

#[test]
fn a_task_is_waited_for_by_polling() {
    let server = Server::start(&[]);
    let sent = server.json(&["send", "slow 1", "--async"]);
    let id = sent["task"]["id"].as_str().unwrap();
    let run = server.run(&["task", "get", id, "--wait", "--poll-interval", "100ms"]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
}

#[test]
fn tasks_are_listed_page_by_page_newest_first() {
    let server = Server::start(&[]);
    let ids: Vec<_> = (0..3)
        .map(|_| server.json(&["send", "hello"])["task"]["id"].as_str().unwrap().to_owned())
        .collect();
    let page = server.json(&["task", "list", "--page-size", "2"]);
    assert_eq!(page["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(page["tasks"][0]["id"].as_str(), Some(ids[2].as_str()));
    assert_eq!(page["totalSize"], 3);
    let token = page["nextPageToken"].as_str().unwrap();
    let rest = server.json(&["task", "list", "--page-size", "2", "--page-token", token]);
    assert_eq!(rest["tasks"][0]["id"].as_str(), Some(ids[0].as_str()));
    let all = server.json(&["task", "list", "--page-size", "1", "--all"]);
    assert_eq!(all["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(all["nextPageToken"], "");
    let lines = server.run(&["task", "list", "--stream", "-o", "json"]);
    assert_eq!(lines.lines().len(), 3);
    let none = server.json(&["task", "list", "--status", "failed"]);
    assert_eq!(none["totalSize"], 0);
    let text = server.run(&["task", "list", "--page-size", "1"]);
    assert!(text.stdout.ends_with("Total: 3\n"), "{text:?}");
    assert!(!text.field("Next page token").is_empty());
}

#[test]
fn a_task_is_canceled_once_and_again_and_an_ended_one_is_not() {
    let server = Server::start(&[]);
    let sent = server.json(&["send", "slow 30", "--async"]);
    let id = sent["task"]["id"].as_str().unwrap();
    for _ in 0..2 {
        let run = server.run(&["task", "cancel", id]);
        assert_eq!((run.code, run.field("State")), (0, "CANCELED"), "{run:?}");
    }
    let done = server.json(&["send", "hello"]);
    let refused = server.run(&["task", "cancel", done["task"]["id"].as_str().unwrap()]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.starts_with("Error: TaskNotCancelableError\nMessage: "), "{refused:?}");
    assert!(refused.stderr.ends_with("A2A Code: -32002\n"), "{refused:?}");
}

#[test]
fn a_subscription_gives_the_final_task_or_its_events() {
    let server = Server::start(&[]);
    for binding in ["jsonrpc", "rest", "grpc"] {
        let sent = server.json(&["send", "stream 10", "--async"]);
        let id = sent["task"]["id"].as_str().unwrap();
        let task = server.json(&["task", "subscribe", id, "--transport", binding]);
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{binding}");
        assert_eq!(task["artifacts"][0]["parts"].as_array().unwrap().len(), 10, "{binding}");
        // The task has ended: it is the result.
        let again = server.run(&["task", "subscribe", id, "--stream", "-o", "json"]);
        assert_eq!(again.lines()[0]["task"]["id"], id, "{binding}");
        let sent = server.json(&["send", "stream 10", "--async"]);
        let id = sent["task"]["id"].as_str().unwrap();
        let run = server.run(&[
            "task",
            "subscribe",
            id,
            "--stream",
            "-o",
            "json",
            "--transport",
            binding,
        ]);
        let lines = run.lines();
        assert!(lines[0]["task"].is_object(), "{binding}: {run:?}");
        let last = &lines.last().unwrap()["statusUpdate"]["status"]["state"];
        assert_eq!(last, "TASK_STATE_COMPLETED", "{binding}");
    }
}

#[test]
fn a_task_that_is_not_there_is_an_error_of_the_protocol_on_every_binding() {
    let server = Server::start(&[]);
    for binding in ["jsonrpc", "rest", "grpc"] {
        let run = server.run(&["task", "get", "nope", "-o", "json", "--transport", binding]);
        assert_eq!(run.code, 1, "{binding}");
        assert_eq!(
            run.stdout,
            format!(
                "{{\"error\":{{\"code\":\"TaskNotFoundError\",\"message\":\"task not found: nope\",\
                 \"hint\":\"check the id with `a2a task list -a {}`; add --debug for the raw answer\",\
                 \"a2aCode\":-32001}}}}\n",
                server.address
            ),
            "{binding}"
        );
        assert_eq!(run.stderr, "error: TaskNotFoundError: task not found: nope\n", "{binding}");
    }
}

#[test]
fn a_card_is_shown_checked_and_read_from_a_file() {
    let server = Server::start(&[]);
    let text = server.run(&["card", "get"]);
    assert_eq!(text.field("Name"), "Demo agent");
    assert_eq!(text.field("Selected interface"), format!("JSONRPC 1.0 {}", server.url()));
    assert_eq!(text.field("Signature"), "absent");
    let preferring = server.run(&["card", "get", "--transport", "grpc,rest"]);
    assert_eq!(preferring.field("Selected interface"), format!("GRPC 1.0 {}", server.address));
    let json = server.json(&["card", "get", "--validate"]);
    let interfaces = json["supportedInterfaces"].as_array().unwrap();
    let current = interfaces.iter().filter(|interface| interface["protocolVersion"] == "1.0");
    assert_eq!(current.count(), 3);
    let extended = server.json(&["card", "get", "--extended"]);
    let skills = |card: &serde_json::Value| card["skills"].as_array().unwrap().len();
    assert_eq!(skills(&extended), skills(&json) + 1);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("card.json");
    std::fs::write(&file, json.to_string()).unwrap();
    let by_file = Run::of(command().args(["send", "hello", "-a", file.to_str().unwrap()]));
    assert_eq!(by_file.field("State"), "COMPLETED");
    std::fs::write(&file, "{\"name\": \"x\"}").unwrap();
    let invalid =
        Run::of(command().args(["card", "get", "--validate", "-a", file.to_str().unwrap()]));
    assert_eq!(invalid.code, 1);
    assert!(invalid.stderr.starts_with("Error: A2ACLI_ERR_CARD_INVALID\n"), "{invalid:?}");
}

#[test]
fn an_interface_is_called_without_a_card() {
    let server = Server::start(&[]);
    for (binding, url) in
        [("jsonrpc", server.url()), ("rest", server.url()), ("grpc", server.address.clone())]
    {
        let run = Run::of(command().args(["send", "hello", "-e", &url, "--transport", binding]));
        assert_eq!(run.field("State"), "COMPLETED", "{binding}: {run:?}");
    }
    let two = Run::of(command().args(["send", "hello", "-e", &server.url()]));
    assert_eq!(two.code, 2, "{two:?}");
}
