//! `a2a serve`: what it prints, serves, refuses, and how it stops.

use std::{io::Read, process::Stdio};

use crate::common::{Run, Server, command, http};
use serde_json::{Value, json};

#[test]
fn startup_prints_one_field_per_line() {
    let server = Server::start(&[]);
    let address = &server.address;
    // Printed where the machine has fewer descriptors or less memory than the defaults need.
    let of_machine = |line: &&String| line.starts_with("Limits: ");
    let lines: Vec<_> = server.lines.iter().filter(|line| !of_machine(line)).collect();
    assert_eq!(
        lines,
        [
            &format!("Listening: http://{address}"),
            &format!("Card: http://{address}/.well-known/agent-card.json"),
            &format!(
                "Bindings: JSONRPC http://{address}, HTTP+JSON http://{address}, GRPC {address}"
            ),
            &"Store: memory (tasks are lost at exit)".to_owned(),
            &format!("Try: curl -s http://{address}/.well-known/agent-card.json"),
            &format!("Try: a2a send -a {address} \"stream 5\" --stream"),
        ]
    );
}

#[test]
fn command_to_try_works_if_the_card_names_another_host() {
    for more in [&[][..], &["--rpc-path", "/rpc"]] {
        let arguments = ["--public-url", "https://agent.invalid/base"];
        let server = Server::start(&[&arguments[..], more].concat());
        let tried = server.lines.last().unwrap().strip_prefix("Try: a2a ").unwrap();
        let (arguments, _) = tried.split_once(" \"stream 5\"").unwrap();
        let run = Run::of(command().args(arguments.split(' ')).arg("hello"));
        assert_eq!((run.code, run.field("State")), (0, "COMPLETED"), "{tried}: {run:?}");
    }
}

#[test]
fn a_signal_lets_streams_finish_and_ends_well() {
    let server = Server::start(&[]);
    let mut client = command()
        .args(["send", "stream 20", "--stream", "-o", "json", "-a", &server.address])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = client.stdout.take().unwrap();
    // The first byte says that the stream is open.
    stdout.read_exact(&mut [0]).unwrap();
    server.terminate();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert!(client.wait().unwrap().success());
    assert!(rest.contains("chunk 20 of 20") && rest.contains("TASK_STATE_COMPLETED"), "{rest}");
    assert_eq!(server.ended(), (Some(0), String::new()));
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let server = Server::start(&[]);
    let port = server.address.rsplit(':').next().unwrap();
    let run = Run::of(command().args(["serve", "--port", port]));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("A2AX_ERR_ADDRESS_IN_USE"), "{run:?}");
    assert!(run.stderr.contains(&server.address), "{run:?}");
    assert!(run.stderr.contains("--port"), "{run:?}");
}

#[test]
fn host_of_another_machine_is_rejected_with_a_hint() {
    for host in ["nosuch.invalid", "127.0.0.1:80", "192.0.2.1"] {
        for words in [&["serve", "--store", "memory"][..], &["listen"]] {
            let run = Run::of(command().args(words).args(["--host", host, "--port", "0"]));
            assert_eq!(run.code, 2, "{host} {words:?}: {run:?}");
            let hint = "Hint: --host must be a name or an address of this machine, without a port";
            assert!(run.stderr.contains(hint), "{host} {words:?}: {run:?}");
        }
    }
    let named = Server::start(&["--host", "localhost"]);
    assert_eq!(named.run(&["send", "hi"]).field("State"), "COMPLETED");
}

#[test]
fn grpc_can_be_served_without_being_in_the_card() {
    let server = Server::start(&["--grpc-in-card", "never"]);
    let card = server.json(&["card", "get"]);
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert!(!interfaces.is_empty(), "{card}");
    assert!(interfaces.iter().all(|one| one["protocolBinding"] != "GRPC"), "{card}");
    assert!(
        interfaces.iter().all(|one| one["url"].as_str().unwrap().starts_with("http://")),
        "{card}"
    );
    let grpc = ["send", "hello", "-e", &server.address, "--transport", "grpc"];
    let run = Run::of(command().args(grpc));
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
    let nothing = ["serve", "--port", "0", "--store", "memory", "--transport", "grpc"];
    let refused = Run::of(command().args(nothing).args(["--grpc-in-card", "never"]));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--grpc-in-card"), "{refused:?}");
}

#[test]
fn a_wildcard_address_without_a_public_url_is_warned_of_and_refused_in_production() {
    let folder = a2a_test_certificates::Folder::new("root");
    folder.issue("server");
    let tls = ["--tls-cert", &folder.path("server.crt"), "--tls-key", &folder.path("server.key")];
    let public = ["--public-url", "https://agent.example"];
    for (arguments, is_warned) in [
        (&["--host", "0.0.0.0"][..], true),
        (&["--host", "::"], true),
        (&["--host", "127.0.0.1"], false),
        (&["--host", "0.0.0.0", public[0], public[1]], false),
    ] {
        let (server, stderr) = Server::start_and_read(&[arguments, &tls].concat());
        drop(server);
        let stderr = stderr.join().unwrap();
        assert_eq!(stderr.contains("the card names localhost"), is_warned, "{arguments:?}");
        assert_eq!(stderr.contains("--public-url"), is_warned, "{arguments:?}: {stderr}");
    }
    let production = ["serve", "--port", "0", "--store", "memory", "--production", "--anonymous"];
    let wildcard = ["--host", "0.0.0.0"];
    let refused = Run::of(command().args(production).args(tls).args(wildcard));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("the card names localhost"), "{refused:?}");

    let own_port = ["--host", "0.0.0.0", "--grpc-port", "0", public[0], public[1]];
    let server = Server::start(&[&own_port[..], &tls].concat());
    assert!(server.lines[2].contains("GRPC agent.example:"), "{:?}", server.lines);
}

#[test]
fn unauthenticated_callers_beyond_this_machine_are_warned_of_and_refused_in_production() {
    let folder = a2a_test_certificates::Folder::new("root");
    folder.issue("server");
    let tls = ["--tls-cert", &folder.path("server.crt"), "--tls-key", &folder.path("server.key")];
    let public = ["--public-url", "https://agent.example"];
    let everywhere = ["--host", "0.0.0.0"];
    for (arguments, is_warned) in [
        (&everywhere[..], true),
        (&["--host", "::"], true),
        (&[everywhere[0], everywhere[1], "--extended-card-token", "t"], true),
        (&[everywhere[0], everywhere[1], "--require-bearer", "t", "--anonymous"], true),
        (&[everywhere[0], everywhere[1], "--require-bearer", "t"], false),
        (&["--host", "127.0.0.1"], false),
        (&["--host", "::1", "--require-bearer", "t", "--anonymous"], false),
    ] {
        let (server, stderr) = Server::start_and_read(&[arguments, &tls, &public].concat());
        drop(server);
        let stderr = stderr.join().unwrap();
        let is_said = stderr.contains("accepts unauthenticated callers");
        assert_eq!(is_said, is_warned, "{arguments:?}: {stderr}");
    }
    let production = ["serve", "--port", "0", "--store", "memory", "--production", "--anonymous"];
    for authentication in [&[][..], &["--require-bearer", "t"]] {
        let mut refused = command();
        refused.args(production).args(tls).args(public).args(everywhere).args(authentication);
        let refused = Run::of(&mut refused);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("accepts unauthenticated callers"), "{refused:?}");
    }
    let here = [&["--production", "--anonymous"][..], &tls, &public].concat();
    drop(Server::start(&here));
}

#[test]
fn bindings_are_served_in_the_order_asked_for_and_where_asked_for() {
    let server = Server::start(&["--transport", "grpc,rest", "--rest-prefix", "/api"]);
    let card = server.json(&["card", "get"]);
    let interfaces: Vec<_> = card["supportedInterfaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interface| {
            let text = |name: &str| interface[name].as_str().unwrap().to_owned();
            (text("protocolBinding"), text("protocolVersion"))
        })
        .collect();
    let expected = [("GRPC", "1.0"), ("HTTP+JSON", "1.0"), ("GRPC", "0.3"), ("HTTP+JSON", "0.3")];
    let expected = expected.map(|(binding, version)| (binding.to_owned(), version.to_owned()));
    assert_eq!(interfaces, expected);
    assert_eq!(card["supportedInterfaces"][0]["url"], server.address);
    assert_eq!(card["supportedInterfaces"][1]["url"], format!("{}/api", server.url()));
    for binding in ["grpc", "rest"] {
        let run = server.run(&["send", "hello", "--transport", binding]);
        assert_eq!(run.field("State"), "COMPLETED", "{binding}");
    }
    let other = Server::start(&[
        "--rpc-path",
        "/rpc",
        "--grpc-port",
        "0",
        "--public-url",
        "http://localhost:1",
    ]);
    let card = other.json(&["card", "get"]);
    assert_eq!(card["supportedInterfaces"][0]["url"], "http://localhost:1/rpc");
    let rpc = format!("{}/rpc", other.url());
    for url in [rpc.clone(), format!("{rpc}/")] {
        let run = Run::of(command().args(["send", "hello", "-e", &url, "--transport", "jsonrpc"]));
        assert_eq!(run.field("State"), "COMPLETED", "{url}: {run:?}");
    }
    let apart = Server::start(&["--grpc-port", "0"]);
    let card = apart.json(&["card", "get"]);
    assert_ne!(card["supportedInterfaces"][2]["url"], apart.address.as_str());
    assert_eq!(apart.run(&["send", "hello", "--transport", "grpc"]).field("State"), "COMPLETED");
}

#[test]
fn disabled_capabilities_are_not_declared_and_rejected() {
    let flags = ["--no-push", "--no-streaming", "--no-extended-card", "--no-grpc", "--no-compat"];
    let server = Server::start(&flags);
    let card = server.json(&["card", "get"]);
    let capabilities = &card["capabilities"];
    for name in ["streaming", "pushNotifications", "extendedAgentCard"] {
        assert_eq!(capabilities[name], false, "{name}: {capabilities}");
    }
    for (arguments, code) in [
        (&["task", "subscribe", "t"][..], "UnsupportedOperationError"),
        (&["card", "get", "--extended"], "UnsupportedOperationError"),
        (&["send", "hi", "--push-url", "https://example.com"], "PushNotificationNotSupportedError"),
    ] {
        let run = server.run(arguments);
        assert_eq!(run.code, 1, "{arguments:?}");
        assert!(run.stderr.starts_with(&format!("Error: {code}\n")), "{run:?}");
        // Without the card, the agent says so itself.
        let url = server.url();
        let mut direct = vec!["-e", &url, "--transport", "jsonrpc"];
        direct.extend(arguments);
        let run = Run::of(command().args(direct));
        assert!(run.stderr.contains(&format!("Error: {code}\n")), "{run:?}");
    }
    assert_eq!(card["supportedInterfaces"].as_array().unwrap().len(), 2);
}

#[test]
fn flags_set_the_members_of_the_card() {
    let server = Server::start(&[
        "--name",
        "Mine",
        "--description",
        "My own",
        "--required-extension",
        "urn:x-must:1",
    ]);
    let card = server.json(&["card", "get"]);
    assert_eq!((&card["name"], &card["description"]), (&json!("Mine"), &json!("My own")));
    let refused = server.run(&["send", "hello"]);
    assert!(refused.stderr.contains("ExtensionSupportRequiredError"), "{refused:?}");
    let admitted = server.run(&["send", "hello", "--extension", "urn:x-must:1"]);
    assert_eq!(admitted.field("State"), "COMPLETED");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("card.json");
    std::fs::write(&file, card.to_string()).unwrap();
    let again = Server::start(&["--echo", "--card", file.to_str().unwrap()]);
    let served = again.json(&["card", "get"]);
    assert_eq!(served["name"], "Mine");
    assert_eq!(served["supportedInterfaces"][0]["url"], again.url());
}

#[tokio::test]
async fn the_extended_card_can_need_a_token_on_every_binding() {
    let server = Server::start(&["--extended-card-token", "secret"]);
    let card = server.json(&["card", "get"]);
    assert!(card["securitySchemes"]["bearer"].is_object(), "{card}");
    assert!(card["securityRequirements"].is_null(), "{card}");
    for binding in ["jsonrpc", "rest", "grpc"] {
        let get = ["card", "get", "--extended", "--transport", binding];
        let with = |token: &'static str| [&get[..], &["--bearer", token]].concat();
        let missing = server.run(&get);
        assert_eq!(missing.code, 4, "{binding}: {missing:?}");
        assert!(missing.stderr.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{missing:?}");
        let refused = server.run(&with("wrong"));
        assert_eq!(refused.code, 4, "{binding}: {refused:?}");
        assert!(refused.stderr.contains("A2ACLI_ERR_AUTH_FAILED"), "{refused:?}");
        assert_eq!(server.run(&with("secret")).code, 0, "{binding}");
    }
    // Anybody may send, and reads the task with the token or without it.
    let sent = server.json(&["send", "hello"]);
    let id = sent["task"]["id"].as_str().unwrap();
    assert_eq!(server.run(&["task", "get", id, "--bearer", "secret"]).code, 0);

    let url = format!("{}/extendedAgentCard", server.url());
    let get = async |line: &str| {
        http("GET", &url, &[("A2A-Version", "1.0"), ("Authorization", line)], "").await
    };
    let missing = get("").await;
    assert_eq!(missing.status(), 401);
    assert!(missing.headers()["www-authenticate"].to_str().unwrap().starts_with("Bearer "));
    assert_eq!(get("Bearer wrong").await.status(), 401);
    assert_eq!(get("Bearer secret").await.status(), 200);
}

#[test]
fn profiles_of_suites_are_a_usage_error_that_names_the_test_agent() {
    let directory = tempfile::tempdir().unwrap();
    let settings = directory.path().join("settings.toml");
    std::fs::write(&settings, "[agent]\nprofile = \"bench\"\n").unwrap();
    for arguments in [
        ["--profile", "conformance"],
        ["--default", "complete"],
        ["--settings", settings.to_str().unwrap()],
    ] {
        let run = Run::of(command().arg("serve").args(arguments));
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains("a2a-test-agent"), "{arguments:?}: {run:?}");
    }
}

#[tokio::test]
async fn pages_beside_the_bindings_answer() {
    let server = Server::start(&[]);
    for path in ["healthz", "readyz"] {
        let url = format!("{}/{path}", server.url());
        assert_eq!(http("GET", &url, &[], "").await.status(), 200, "{path}");
    }
    let url = format!("{}/openapi.json", server.url());
    let document: Value = serde_json::from_slice(http("GET", &url, &[], "").await.body()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
}

#[tokio::test]
async fn browsers_get_the_page_of_every_kind_of_agent() {
    let page = async |url: &str| {
        let answer = http("GET", url, &[("accept", "text/html,*/*;q=0.8")], "").await;
        assert_eq!(answer.status(), 200, "{url}");
        String::from_utf8(answer.body().to_vec()).unwrap()
    };
    let demo = Server::start(&["--public-url", "https://agent.example/demo"]);
    let shown = page(&demo.url()).await;
    assert!(shown.contains("<title>Demo agent</title>"), "{shown}");
    assert!(shown.contains("a2a send 'Hello' -a 'https://agent.example/demo'"), "{shown}");
    assert!(shown.contains("https://agent.example/demo/.well-known/agent-card.json"), "{shown}");
    let local = Server::start(&[]);
    let extended = local.json(&["card", "get", "--extended"]);
    let open = local.json(&["card", "get"]);
    let skills = |card: &Value| card["skills"].as_array().unwrap().len();
    assert!(skills(&extended) > skills(&open), "{extended}");
    assert_eq!(shown.matches("<article>").count(), skills(&open));

    let exec = Server::start(&["--exec", "cat", "--name", "Cat"]);
    assert!(page(&exec.url()).await.contains("<title>Cat</title>"));
    let proxy = Server::start(&["--proxy", &exec.url()]);
    let shown = page(&proxy.url()).await;
    assert!(shown.contains("<title>Cat</title>") && shown.contains(&proxy.url()), "{shown}");
    assert!(!shown.contains(&exec.url()), "{shown}");
    assert_eq!(http("GET", &proxy.url(), &[("accept", "*/*")], "").await.status(), 405);
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let server = Server::start(&["--max-body", "4KiB"]);
    let text = "x".repeat(5000);
    let run = server.run(&["send", &text]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.starts_with("Error: InvalidRequestError\n"), "{run:?}");
}

#[tokio::test]
async fn webhooks_on_private_addresses_need_a_permission() {
    let closed = Server::start(&[]);
    let hook = ["send", "hello", "--push-url", "http://127.0.0.1:9/hook"];
    let refused = closed.run(&hook);
    assert!(refused.stderr.starts_with("Error: InvalidParamsError\n"), "{refused:?}");
    let open = Server::start(&["--allow-webhook", "127.0.0.0/8"]);
    assert_eq!(open.run(&hook).code, 0);
}
