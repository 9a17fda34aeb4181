//! `--debug`: raw messages on stderr, without secrets.

use crate::common::foreign::{Answer, Foreign};
use crate::common::{Run, Server, command};

const SECRETS: [&str; 3] = ["s3cret-bearer", "s3cret-parameter", "czNjcmV0LWJlYXJlcg"];

/// Runs a command with `--debug` and every secret that a flag takes.
fn debug(server: &Server, arguments: &[&str]) -> Run {
    let secret = ["--bearer", SECRETS[0], "--svc-param", "x-tag:s3cret-parameter"];
    let mut command = command();
    command.args(arguments).args(["-a", &server.address, "--debug"]).args(secret);
    Run::of(command.env("A2ACLI_POLL_INTERVAL", "100ms"))
}

/// The lines of stderr that begin with a mark, without the number of their exchange.
fn marked<'a>(run: &'a Run, mark: &str) -> Vec<&'a str> {
    let lines = run.stderr.lines().filter(|line| line.starts_with('['));
    lines.filter_map(|line| line.split_once("] ")?.1.strip_prefix(mark)).collect()
}

fn assert_masked(run: &Run) {
    for secret in SECRETS {
        assert!(!run.stderr.contains(secret) && !run.stdout.contains(secret), "{run:?}");
    }
}

#[test]
fn requests_answers_and_headers_are_printed_without_secrets_on_every_binding() {
    let server = Server::start(&[]);
    for (binding, first, message) in [
        ("jsonrpc", "POST http://", r#""method":"SendMessage""#),
        ("rest", "POST http://", r#""parts":[{"text":"echo hi"}]"#),
        ("grpc", "POST grpc://", r#""parts":[{"text":"echo hi"}]"#),
    ] {
        let run = debug(&server, &["send", "echo hi", "--transport", binding, "--async"]);
        assert_eq!(run.code, 0, "{binding}: {run:?}");
        let (sent, received) = (marked(&run, "> "), marked(&run, "< "));
        assert!(sent.iter().any(|line| line.starts_with(first)), "{binding}: {sent:?}");
        assert!(sent.contains(&"authorization: [redacted]"), "{binding}: {sent:?}");
        assert!(sent.contains(&"x-tag: [redacted]"), "{binding}: {sent:?}");
        assert!(sent.contains(&"a2a-version: 1.0"), "{binding}: {sent:?}");
        assert!(sent.iter().any(|line| line.contains(message)), "{binding}: {sent:?}");
        assert!(received.contains(&"200 OK"), "{binding}: {received:?}");
        assert!(
            received.iter().any(|line| line.contains(r#""state":"TASK_STATE_"#)),
            "{binding}: {received:?}"
        );
        // The card that the binding was chosen by is a message too.
        assert!(received.iter().any(|line| line.contains("supportedInterfaces")), "{received:?}");
        assert_masked(&run);
    }
}

#[test]
fn every_frame_of_a_stream_is_printed_as_it_comes() {
    let server = Server::start(&[]);
    for (binding, frame) in [("jsonrpc", "data: {"), ("rest", "data: {"), ("grpc", "{")] {
        let arguments = ["send", "stream 3", "--stream", "-o", "json", "--transport", binding];
        let run = debug(&server, &arguments);
        assert_eq!(run.lines().len(), 6, "{binding}: {run:?}");
        let received = marked(&run, "< ");
        let chunks = received
            .iter()
            .filter(|line| line.starts_with(frame) && line.contains(" of 3\""))
            .count();
        assert_eq!(chunks, 3, "{binding}: {received:?}");
        assert_masked(&run);
    }
}

#[test]
fn failures_and_what_can_not_be_read_are_printed() {
    let server = Server::start(&[]);
    for (arguments, said) in [
        (&["task", "get", "nope"][..], r#""code":-32001"#),
        (&["task", "cancel", "nope"], r#""code":-32001"#),
        (&["task", "list"], r#""tasks":["#),
        (&["card", "get"], "supportedInterfaces"),
        (&["card", "get", "--extended"], "supportedInterfaces"),
    ] {
        let run = debug(&server, &[arguments, &["--transport", "jsonrpc"]].concat());
        let received = marked(&run, "< ");
        assert!(received.iter().any(|line| line.contains(said)), "{arguments:?}: {run:?}");
        assert_masked(&run);
    }
    let missing = debug(&server, &["task", "get", "nope", "--transport", "grpc"]);
    assert!(marked(&missing, "! ").iter().any(|line| line.contains("NotFound")), "{missing:?}");
    let mut unreachable = command();
    unreachable.args(["send", "hi", "-e", "http://127.0.0.1:1", "--transport", "jsonrpc"]);
    let unreachable = Run::of(unreachable.arg("--debug"));
    assert_eq!(unreachable.code, 3, "{unreachable:?}");
    assert!(!marked(&unreachable, "! ").is_empty(), "{unreachable:?}");
}

#[test]
fn nothing_of_it_is_printed_without_the_flag_and_control_characters_are_escaped() {
    let server = Server::start(&[]);
    let quiet = server.run(&["send", "html"]);
    assert!(marked(&quiet, "").is_empty(), "{quiet:?}");
    let run = debug(&server, &["send", "html"]);
    assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
}

#[test]
fn secrets_of_a_webhook_are_redacted() {
    let server = Server::start(&[]);
    let webhook = [
        "--push-url=https://ann:p4ssword@hooks.example/a",
        "--push-token=push-t0ken",
        "--push-auth=Bearer:push-cred3ntials",
    ];
    for binding in ["jsonrpc", "rest", "grpc"] {
        let send = [&["send", "echo hi", "--async", "--transport", binding][..], &webhook].concat();
        let run = debug(&server, &send);
        assert!(run.stderr.contains("@hooks.example"), "{run:?}");
        for secret in ["p4ssword", "push-t0ken", "push-cred3ntials"] {
            assert!(!run.stderr.contains(secret), "{binding}: {secret}: {run:?}");
        }
    }
}

#[test]
fn credentials_that_an_agent_repeats_in_an_error_are_redacted() {
    let text = "no: Bearer s3cret-bearer, x-tag s3cret-parameter, hook https://ann:p4ssword@h.example \
                push-t0ken, s3cret%2Fkey%3D and s3cret/key=";
    let script = [("SendMessage", vec![Answer::Error(-32603, text)])];
    let agent = Foreign::start_with(&script, |card| {
        card["capabilities"] = serde_json::json!({"pushNotifications": true});
    });
    for format in ["text", "json"] {
        for more in [&[][..], &["--debug"]] {
            let mut command = command();
            command.args(["send", "hi", "-a", &agent.address, "-o", format, "--svc-param"]);
            command.args(["x-tag:s3cret-parameter", "--bearer", SECRETS[0]]).args(more);
            command.args(["--push-url", "https://ann:p4ssword@h.example"]);
            command.args(["--push-token", "push-t0ken"]).env("A2ACLI_API_KEY", "s3cret/key=");
            let run = Run::of(&mut command);
            assert_eq!(run.code, 1, "{run:?}");
            assert!(run.stderr.contains("no: Bearer [redacted], x-tag [redacted]"), "{run:?}");
            assert_masked(&run);
            for secret in ["p4ssword", "push-t0ken", "s3cret%2Fkey", "s3cret/key"] {
                assert!(!run.stderr.contains(secret), "{secret}: {run:?}");
                assert!(!run.stdout.contains(secret), "{secret}: {run:?}");
            }
        }
    }
}
