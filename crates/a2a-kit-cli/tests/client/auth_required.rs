//! `--auth-wait`: a task that waits for an authorization shows what it asks for.
#![cfg(unix)]

use crate::common::login::{Login, User};
use crate::common::{Run, Server, http};

/// Gives the authorization that the agent asks for with a request such as `POST /path`.
fn authorize(server: &Server, request: &str) {
    let path = request.strip_prefix("POST ").unwrap();
    let url = format!("{}{path}", server.url());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert!(runtime.block_on(http("POST", &url, &[], "")).status().is_success());
}

/// Runs a command until the task is authorized and has ended.
fn run(server: &Server, arguments: &[&str]) -> Run {
    let user = User::new();
    let mut command = user.command(arguments);
    let mut run = Login::start(command.args(["-a", &server.address, "--auth-wait"]));
    let request = run.label("Authorize this with");
    authorize(server, &request);
    run.end()
}

#[test]
fn waiting_send_shows_the_request_on_stderr() {
    for more in [&[][..], &["--no-streaming"]] {
        let server = Server::start(more);
        let run = run(&server, &["send", "auth"]);
        assert_eq!(run.field("State"), "COMPLETED", "{more:?}: {run:?}");
        assert_eq!(run.stderr.matches("is AUTH_REQUIRED").count(), 1, "{more:?}: {run:?}");
        assert!(!run.stdout.contains("Authorize this with"), "{more:?}: {run:?}");
    }
}

#[test]
fn waiting_task_get_shows_the_request_on_stderr() {
    let server = Server::start(&[]);
    let sent = server.run(&["send", "auth"]);
    assert_eq!(sent.field("State"), "AUTH_REQUIRED");
    assert!(sent.stdout.contains("Authorize this with: POST"), "{sent:?}");
    let run = run(&server, &["task", "get", sent.field("Task ID"), "--wait"]);
    assert_eq!(run.field("State"), "COMPLETED", "{run:?}");
}
