//! `a2a serve --proxy`: another agent, offered as this one.

use crate::common::{Run, Server, command, http, kind};
use serde_json::{Value, json};

#[test]
fn any_front_is_put_before_any_back() {
    let agent = Server::start(&[]);
    for back in ["jsonrpc", "rest", "grpc"] {
        let proxy = Server::start(&["--proxy", &agent.address, "--upstream-transport", back]);
        assert!(proxy.lines[3].starts_with("Upstream: "), "{:?}", proxy.lines);
        for front in ["jsonrpc", "rest", "grpc"] {
            let front_over_back = format!("{front} over {back}");
            let run = proxy.run(&["send", "hello", "--transport", front]);
            assert_eq!(run.field("State"), "COMPLETED", "{front_over_back}: {run:?}");

            let run =
                proxy.run(&["send", "stream 3", "--stream", "-o", "json", "--transport", front]);
            let kinds: Vec<_> = run.lines().iter().map(kind).collect();
            assert_eq!(kinds.first().unwrap(), "task SUBMITTED", "{front_over_back}");
            assert_eq!(kinds.last().unwrap(), "status COMPLETED", "{front_over_back}");
            assert_eq!(kinds.iter().filter(|kind| kind.starts_with("artifact")).count(), 3);

            let run = proxy.run(&["task", "get", "nope", "--transport", front]);
            assert!(run.stderr.starts_with("Error: TaskNotFoundError\n"), "{run:?}");
        }
    }
}

#[tokio::test]
async fn the_card_is_that_of_the_agent_with_the_interfaces_of_the_front() {
    let agent = Server::start(&["--require-bearer", "right-token"]);
    let behind = agent.json(&["card", "get"]);
    assert!(behind["securitySchemes"].is_object());
    let proxy = Server::start(&["--proxy", &agent.url(), "--transport", "grpc"]);
    let front = proxy.json(&["card", "get"]);
    for member in ["name", "description", "version", "capabilities", "skills", "defaultInputModes"]
    {
        assert_eq!(front[member], behind[member], "{member}");
    }
    assert!(front["securitySchemes"].is_null() && front["securityRequirements"].is_null());
    let interfaces = front["supportedInterfaces"].as_array().unwrap();
    let address = proxy.address.as_str();
    assert!(interfaces.iter().all(|interface| interface["protocolBinding"] == "GRPC"));
    assert!(
        interfaces.iter().all(|interface| interface["url"].as_str().unwrap().contains(address))
    );

    let named = Server::start(&["--proxy", &agent.url(), "--name", "Front", "--no-streaming"]);
    let card = named.json(&["card", "get"]);
    assert_eq!(
        (&card["name"], &card["capabilities"]["streaming"]),
        (&json!("Front"), &json!(false))
    );
    let open = Server::start(&[]);
    let silent = Server::start(&["--proxy", &open.url(), "--no-streaming"]);
    let begun = silent.run(&["send", "hello"]).field("Task ID").to_owned();
    let path = format!("{}/tasks/{begun}:subscribe", silent.url());
    let answer = http("GET", &path, &[("A2A-Version", "1.0")], "").await;
    let error: Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(error["error"]["details"][0]["reason"], "UNSUPPORTED_OPERATION", "{error}");
}

#[test]
fn the_proxy_has_credentials_of_its_own_and_its_callers_are_not_blamed_for_them() {
    let agent = Server::start(&["--require-bearer", "right-token"]);
    let proxy = Server::start(&["--proxy", &agent.address, "--bearer", "right-token"]);
    for credentials in [&[][..], &["--bearer", "anything"]] {
        let mut arguments = vec!["send", "hello"];
        arguments.extend(credentials);
        assert_eq!(proxy.run(&arguments).field("State"), "COMPLETED", "{credentials:?}");
    }
    let with_header = ["--svc-param", "Authorization: Bearer right-token"];
    let proxy = Server::start(&[&["--proxy", &agent.address][..], &with_header].concat());
    assert_eq!(proxy.run(&["send", "hello"]).field("State"), "COMPLETED");

    let without = Server::start(&["--proxy", &agent.address]);
    let run = without.run(&["send", "hello", "--bearer", "right-token"]);
    assert_eq!(run.code, 1, "it is not the credential of the caller that was refused: {run:?}");
    assert!(run.stderr.contains("rejected the gateway's credentials"), "{run:?}");
}

#[test]
fn callers_authenticate_at_the_agent_where_that_is_wanted() {
    let agent = Server::start(&["--require-bearer", "right-token"]);
    let schemes = agent.json(&["card", "get"])["securitySchemes"].clone();
    for back in ["jsonrpc", "rest", "grpc"] {
        let upstream = ["--proxy", &agent.address, "--upstream-transport", back];
        let proxy = Server::start(&[&upstream[..], &["--forward-auth"]].concat());
        assert_eq!(proxy.json(&["card", "get"])["securitySchemes"], schemes);
        for (front, token, code) in [
            ("jsonrpc", Some("right-token"), 0),
            ("grpc", Some("right-token"), 0),
            ("rest", Some("right-token"), 0),
            ("jsonrpc", Some("wrong"), 4),
            ("grpc", Some("other-token"), 4),
            ("rest", None, 4),
        ] {
            let mut arguments = vec!["send", "stream 1", "--stream", "--transport", front];
            arguments.extend(token.iter().flat_map(|token| ["--bearer", token]));
            let run = proxy.run(&arguments);
            assert_eq!(run.code, code, "{front} over {back} with {token:?}: {run:?}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_is_down_is_unavailable_and_the_proxy_stays_up() {
    let gone = Server::start(&[]);
    let (address, url) = (gone.address.clone(), gone.url());
    let proxy = Server::start(&["--proxy", &address]);
    let begun = proxy.run(&["send", "hello"]).field("Task ID").to_owned();
    drop(gone);
    let run = proxy.run(&["send", "hello"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("failed to connect to upstream agent"), "{run:?}");
    assert!(!run.stderr.contains(&address), "{run:?}");
    let version = [("A2A-Version", "1.0")];
    let answer = http("GET", &format!("{}/tasks/{begun}", proxy.url()), &version, "").await;
    assert_eq!(answer.status(), 503);
    let error: Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(error["error"]["status"], "UNAVAILABLE");

    for reference in [["--proxy", &address], ["--proxy", &url]] {
        let run = Run::of(command().args(["serve", "--port", "0"]).args(reference));
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stderr.starts_with("Error: A2ACLI_ERR_UNREACHABLE\n"), "{run:?}");
    }
}

#[test]
fn an_agent_without_a_card_is_named_by_its_address() {
    let agent = Server::start(&["--echo"]);
    let upstream = ["--proxy", "-e", &agent.url(), "--upstream-transport", "rest"];
    let proxy = Server::start(&upstream);
    let card = proxy.json(&["card", "get"]);
    assert_eq!(card["name"], "Proxy");
    let run = proxy.run(&["send", "hello", "--transport", "grpc"]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
}

#[test]
fn a_record_has_a_line_for_everything_that_passes_and_no_secrets() {
    let agent = Server::start(&["--allow-webhook", "127.0.0.0/8"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("record.jsonl");
    let record = path.to_str().unwrap();
    let proxy = Server::start(&["--proxy", &agent.address, "--record", record]);
    proxy.run(&["send", "stream 2", "--stream", "--push-url", "http://127.0.0.1:9/?q=s3cret"]);
    proxy.run(&["task", "get", "nope"]);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps = |call: u64| -> Vec<_> {
        let of_call = lines.iter().filter(|line| line["call"] == call);
        of_call.map(|line| line["step"].as_str().unwrap()).collect()
    };
    assert_eq!(&steps(1)[..3], ["request", "answer", "event"], "{text}");
    assert_eq!(steps(2), ["request", "error"], "{text}");
}

#[test]
fn conflicting_flags_of_a_proxy_are_rejected() {
    let agent = Server::start(&[]);
    let proxy = ["--proxy", &agent.address];
    for (arguments, code) in [
        (&["--record", "r.jsonl"][..], 2),
        (&["--upstream-transport", "grpc"], 2),
        (&["--echo", "--proxy", &agent.address], 2),
        (&[proxy[0], proxy[1], "--upstream-transport", "pigeon"], 2),
        (&[proxy[0], proxy[1], "--upstream-version", "new"], 2),
        (&[proxy[0], proxy[1], "--required-extension", "urn:x"], 2),
        (&[proxy[0], proxy[1], "--record", "/"], 2),
        (&[proxy[0], proxy[1], "--forward-auth", "--bearer", "t"], 2),
        (&[proxy[0], proxy[1], "--forward-auth", "--api-key", "k"], 2),
        (&[proxy[0], proxy[1], "--forward-auth", "--svc-param", "x-api-key: k"], 2),
        (&[proxy[0], proxy[1], "--forward-auth", "--svc-param", "Authorization: Bearer t"], 2),
        (&["--forward-auth"], 2),
        (&["--proxy"], 2),
        (&["--proxy", "/no/such/card.json"], 3),
    ] {
        let run = Run::of(command().args(["serve", "--port", "0"]).args(arguments));
        assert_eq!(run.code, code, "{arguments:?}: {run:?}");
    }
}

#[test]
fn an_agent_of_an_older_revision_is_offered_in_every_one() {
    let agent = Server::start(&[]);
    for protocol in ["0.1", "0.2", "0.3", "draft"] {
        let upstream = ["--proxy", &agent.address, "--upstream-version", protocol];
        let proxy = Server::start(&upstream);
        for front in ["1.0", "0.3", "draft", "0.1"] {
            let call = |arguments: &[&str]| {
                let of_front = ["--transport", "jsonrpc", "--a2a-version", front];
                proxy.run(&[arguments, &of_front].concat())
            };
            let over = format!("{front} over {protocol}");
            let run = call(&["send", "hello"]);
            assert_eq!(run.field("State"), "COMPLETED", "{over}: {run:?}");
            let run = call(&["send", "stream 2", "--stream", "-o", "json"]);
            assert_eq!(kind(run.lines().last().unwrap()), "status COMPLETED", "{over}: {run:?}");
            let run = call(&["task", "get", "nope"]);
            assert!(run.stderr.contains("Error: TaskNotFoundError\n"), "{over}: {run:?}");
        }
        // From the index of the proxy: most of these revisions have no lists.
        let run = proxy.run(&["task", "list", "--transport", "grpc"]);
        assert_eq!(run.field("Total"), "8", "{protocol}: {run:?}");
    }
}

#[test]
fn the_newest_revision_that_the_agent_has_is_spoken_unasked() {
    let agent = Server::start(&["--protocol", "0.3", "--transport", "rest"]);
    let proxy = Server::start(&["--proxy", &agent.address]);
    let run = proxy.run(&["send", "hello", "--transport", "grpc"]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
    let run = Run::of(
        command()
            .args(["serve", "--port", "0", "--proxy", &agent.address])
            .args(["--upstream-version", "1.0"]),
    );
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("VersionNotSupportedError"), "{run:?}");
}
