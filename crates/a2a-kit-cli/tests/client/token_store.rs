//! The token store: which agents get a token, refreshing, and concurrent use.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};

use crate::common::authorization_server::AuthorizationServer;
use crate::common::login::{Agent, User};
use crate::common::{Run, Server};

/// An agent, and a user who has logged in by the device flow.
fn scene() -> (AuthorizationServer, Agent, User) {
    let server = AuthorizationServer::start();
    let agent = Agent::start(&server.url, &server.scheme("device"));
    let user = User::new();
    server.records().is_approved = true;
    log_in(&user, &agent);
    (server, agent, user)
}

fn log_in(user: &User, agent: &Agent) {
    let run = user.run(&["auth", "login", "-a", agent.address(), "--client-id", "cli"]);
    assert_eq!(run.code, 0, "{run:?}");
}

fn list(user: &User, agent: &Agent) -> Run {
    user.run(&["task", "list", "-a", agent.address()])
}

fn assert_no_token(run: &Run, server: &AuthorizationServer) {
    for token in &server.records().issued {
        assert!(!run.stdout.contains(token) && !run.stderr.contains(token), "{run:?}");
    }
}

#[test]
fn store_is_readable_by_its_owner_only() {
    let (server, agent, user) = scene();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(user.store()), 0o600);
    assert_eq!(mode(user.config()), 0o700);
    fs::set_permissions(user.store(), fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = list(&user, &agent);
    assert_eq!(exposed.code, 0, "{exposed:?}");
    assert!(exposed.stderr.contains("mode 0644"), "{exposed:?}");
    // Each change restores the mode.
    user.expire();
    list(&user, &agent);
    assert_eq!(mode(user.store()), 0o600);
    assert_eq!(server.grants().last().unwrap(), "refresh_token");
}

#[test]
fn malformed_store_is_named_and_left_alone() {
    let (_server, agent, user) = scene();
    let path = user.store().display().to_string();
    for text in ["{", "[]", r#"{"version":2,"tokens":[]}"#, r#"{"version":1,"tokens":[{"a":1}]}"#] {
        fs::write(user.store(), text).unwrap();
        for command in [
            &["task", "list", "-a", agent.address()][..],
            &["auth", "status"],
            &["auth", "logout", "--all"],
            &["auth", "login", "-a", agent.address(), "--client-id", "cli"],
        ] {
            let run = user.run(command);
            assert_eq!(run.code, 1, "{text} {command:?}: {run:?}");
            assert!(run.stderr.contains(&path), "{text} {command:?}: {run:?}");
        }
        assert_eq!(fs::read_to_string(user.store()).unwrap(), text);
        // A credential of the command line does not need the store.
        let given = user.run(&["task", "list", "-a", agent.address(), "--bearer", "wrong"]);
        assert!(given.stderr.contains("A2ACLI_ERR_AUTH_FAILED"), "{text}: {given:?}");
    }
    fs::write(user.store(), vec![b' '; 2 << 20]).unwrap();
    assert!(user.run(&["auth", "status"]).stderr.contains("larger than"), "bounded");
}

#[test]
fn expired_token_is_refreshed_and_the_new_one_is_stored() {
    let (server, agent, user) = scene();
    for _ in 0..3 {
        user.expire();
        assert_eq!(list(&user, &agent).code, 0);
        assert_eq!(list(&user, &agent).code, 0);
    }
    let grants = server.grants();
    assert_eq!(grants.len(), 4, "{grants:?}");
    assert!(grants[1..].iter().all(|grant| grant == "refresh_token"), "{grants:?}");
    let tokens = user.tokens();
    assert_eq!(tokens.as_array().unwrap().len(), 1);
    assert_eq!(tokens[0]["refreshToken"], "refresh-token-6", "refresh tokens are rotated");
}

#[test]
fn rejected_token_is_refreshed_once() {
    let server = AuthorizationServer::start();
    let agent = Agent::start(&server.url, &server.scheme("device"));
    let user = User::new();
    server.records().is_approved = true;
    // The agent considers it expired long before the authorization server says so.
    server.records().valid_for = Some(-100);
    log_in(&user, &agent);
    server.records().valid_for = None;
    for binding in ["jsonrpc", "rest", "grpc"] {
        let run = user.run(&["task", "list", "-a", agent.address(), "--transport", binding]);
        assert_eq!(run.code, 0, "{binding}: {run:?}");
    }
    assert_eq!(server.grants().len(), 2, "{:?}", server.grants());

    // A new token that is rejected too ends the command.
    server.records().valid_for = Some(-100);
    user.expire();
    let refused = list(&user, &agent);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("A2ACLI_ERR_AUTH_FAILED"), "{refused:?}");
    assert_no_token(&refused, &server);
}

#[test]
fn refused_refresh_says_how_to_log_in_again() {
    let (server, agent, user) = scene();
    user.expire();
    server.records().errors.push_back("invalid_grant");
    let refused = list(&user, &agent);
    assert_eq!(refused.code, 4, "{refused:?}");
    let command = format!(
        "a2a auth login -a {} --scheme login --flow device --client-id cli",
        agent.address()
    );
    assert!(refused.stderr.contains(&command), "{refused:?}");
    assert!(refused.stderr.contains("A2ACLI_ERR_AUTH_FAILED"), "{refused:?}");
    assert_no_token(&refused, &server);

    // Nothing is sent if there is nothing to refresh with.
    user.edit(|token| drop(token.as_object_mut().unwrap().remove("refreshToken")));
    let expired = list(&user, &agent);
    assert_eq!(expired.code, 4, "{expired:?}");
    assert!(expired.stderr.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{expired:?}");
    assert!(expired.stderr.contains(&command), "{expired:?}");
}

#[test]
fn missing_token_names_the_scheme_and_the_login_command() {
    let server = AuthorizationServer::start();
    let agent = Agent::start(&server.url, &server.scheme("device"));
    let user = User::new();
    for binding in ["jsonrpc", "rest", "grpc"] {
        let run = user.run(&[
            "task",
            "list",
            "-a",
            agent.address(),
            "--transport",
            binding,
            "-o",
            "json",
        ]);
        assert_eq!(run.code, 4, "{binding}: {run:?}");
        let error = &run.lines()[0]["error"];
        assert_eq!(error["code"], "A2ACLI_ERR_CREDENTIALS_MISSING", "{binding}: {run:?}");
        let hint = error["hint"].as_str().unwrap();
        let command = format!("a2a auth login -a {} --scheme login", agent.address());
        assert!(hint.contains("scheme \"login\"") && hint.contains(&command), "{binding}: {hint}");
    }
    let key = Server::start(&["--require-api-key", "k3y"]);
    let run = user.run(&["task", "list", "-a", &key.address]);
    assert!(run.stderr.contains("for scheme \"apiKey\", give --api-key"), "{run:?}");
}

#[test]
fn token_is_sent_to_the_agent_and_scheme_of_the_login_only() {
    let (server, agent, user) = scene();
    // Another agent with the same scheme, and one whose card says that it is the first.
    let other = Agent::start(&server.url, &server.scheme("device"));
    let url = agent.server.url();
    let registry =
        Agent::start_with(&server.url, &server.scheme("device"), &["--public-url", &url]);
    for (agent, name) in [(&other, "another agent"), (&registry, "another card")] {
        let run = list(&user, agent);
        assert_eq!(run.code, 4, "{name}: {run:?}");
        assert!(run.stderr.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{name}: {run:?}");
    }
    // Of the card of the agent, but with a host or a scheme that was not recorded.
    let kept = user.tokens();
    for (name, change) in [("hosts", "https://other.example"), ("scheme", "other")] {
        user.edit(|token| {
            let value = serde_json::Value::from(change);
            token[name] = if token[name].is_array() { vec![value].into() } else { value };
        });
        let run = list(&user, &agent);
        assert_eq!(run.code, 4, "{name}: {run:?}");
        assert!(run.stderr.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{name}: {run:?}");
        user.edit(|token| *token = kept[0].clone());
    }
    assert_eq!(list(&user, &agent).code, 0);
    assert_eq!(server.records().requests.len(), 1);

    // A login for a card at another origin needs that origin to be named.
    let login = ["auth", "login", "-a", registry.address(), "--client-id", "cli"];
    let refused = user.run(&login);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("--credential-origin"), "{refused:?}");
    assert_eq!(user.run(&[&login[..], &["--credential-origin", &url]].concat()).code, 0);
    let run = list(&user, &registry);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn token_is_not_sent_in_plaintext_to_another_machine() {
    let (_server, agent, user) = scene();
    let card = user.run(&["card", "get", "-o", "json", "-a", agent.address()]).json();
    let mut card = card;
    for interface in card["supportedInterfaces"].as_array_mut().unwrap() {
        interface["url"] = "http://agent.example/".into();
    }
    fs::write(user.path("card.json"), card.to_string()).unwrap();
    let run = user.run(&["auth", "login", "-a", "./card.json", "--client-id", "cli"]);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.stderr.contains("plaintext"), "{run:?}");
    assert!(!run.stderr.contains("Open:"), "{run:?}");
}

#[test]
fn card_in_a_file_is_used_with_the_origin_of_its_interface() {
    let server = AuthorizationServer::start();
    let agent = Agent::start(&server.url, &server.scheme("device"));
    let user = User::new();
    server.records().is_approved = true;
    let card = user.run(&["card", "get", "-o", "json", "-a", agent.address()]);
    fs::write(user.path("card.json"), card.stdout).unwrap();
    let file = ["-a", "./card.json"];
    let login = user.run(&[&["auth", "login", "--client-id", "cli"], &file[..]].concat());
    assert_eq!(login.field("Host"), agent.server.url());
    assert_eq!(user.run(&[&["task", "list"], &file[..]].concat()).code, 0);
    assert_eq!(list(&user, &agent).code, 0, "the same origin");
    let status = user.run(&[&["auth", "status", "-o", "json"], &file[..]].concat());
    assert_eq!(status.json()["tokens"].as_array().unwrap().len(), 1);
    let logout = user.run(&[&["auth", "logout"], &file[..]].concat());
    assert_eq!(logout.field("Removed"), "1");
}

#[test]
fn bench_and_lint_send_the_stored_token_to_each_interface() {
    let (_server, agent, user) = scene();
    let bench = ["bench", "-a", agent.address(), "--requests", "3", "--warmup", "0", "-o", "json"];
    let measured = user.run(&bench);
    assert_eq!(measured.code, 0, "{measured:?}");
    let lint = ["card", "lint", "--live", "-o", "json", agent.address()];
    let findings = |run: &Run| run.json()["findings"].to_string();
    let linted = user.run(&lint);
    assert!(!findings(&linted).contains("Unauthenticated"), "{linted:?}");
    assert!(!findings(&linted).contains("credentials"), "{linted:?}");
    user.run(&["auth", "logout", "--all"]);
    assert_eq!(user.run(&bench).code, 1, "without a token");
    assert_ne!(findings(&user.run(&lint)), findings(&linted));
}

#[test]
fn credential_of_the_command_line_replaces_the_stored_token() {
    let (_server, agent, user) = scene();
    let run = user.run(&["task", "list", "-a", agent.address(), "--bearer", "other"]);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(!run.stderr.contains("a2a auth login"), "{run:?}");
}

#[test]
fn status_shows_tokens_without_their_values_and_logout_removes_them() {
    let (server, agent, user) = scene();
    let other = Agent::start(&server.url, &server.scheme("device"));
    log_in(&user, &other);
    let text = user.run(&["auth", "status"]);
    assert_eq!(text.stdout.matches("Scheme: login").count(), 2, "{text:?}");
    assert_eq!(text.field("Host"), agent.server.url());
    assert!(text.field("Expires").starts_with("20"), "{text:?}");
    assert_no_token(&text, &server);
    user.expire();
    let one = user.run(&["auth", "status", "-o", "json", "-a", agent.address()]);
    assert_no_token(&one, &server);
    let one = one.json();
    let token = &one["tokens"][0];
    assert_eq!(one["tokens"].as_array().unwrap().len(), 1);
    assert_eq!((&token["isExpired"], &token["isRenewable"]), (&true.into(), &true.into()));

    assert_eq!(user.run(&["auth", "logout"]).code, 2, "no agent is named");
    let removed = user.run(&["auth", "logout", "-a", agent.address(), "-o", "json"]);
    assert_eq!(removed.json()["removed"][0]["scheme"], "login");
    assert_no_token(&removed, &server);
    assert_eq!(list(&user, &agent).code, 4);
    assert_eq!(list(&user, &other).code, 0);
    assert_eq!(user.run(&["auth", "logout", "--all"]).field("Removed"), "1");
    assert_eq!(list(&user, &other).code, 4);
    assert_eq!(user.run(&["auth", "status", "-o", "json"]).json()["tokens"], serde_json::json!([]));
}

#[test]
fn concurrent_commands_refresh_an_expired_token_once() {
    let (server, agent, user) = scene();
    user.expire();
    let runs: Vec<_> = (0..6)
        .map(|_| {
            let mut command = user.command(&["task", "list", "-a", agent.address()]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for run in runs {
        let run = Run::from(run.wait_with_output().unwrap());
        assert_eq!(run.code, 0, "{run:?}");
    }
    let grants = server.grants();
    assert_eq!(grants.iter().filter(|grant| *grant == "refresh_token").count(), 1, "{grants:?}");
}

#[test]
fn concurrent_logins_keep_each_others_tokens() {
    let server = AuthorizationServer::start();
    server.records().is_approved = true;
    let agents: Vec<_> =
        (0..4).map(|_| Agent::start(&server.url, &server.scheme("device"))).collect();
    let user = User::new();
    let logins: Vec<_> = agents
        .iter()
        .map(|agent| user.login(&["-a", agent.address(), "--client-id", "cli"]))
        .collect();
    for login in logins {
        let run = login.end();
        assert_eq!(run.code, 0, "{run:?}");
    }
    assert_eq!(user.tokens().as_array().unwrap().len(), 4);
    for agent in &agents {
        assert_eq!(list(&user, agent).code, 0);
    }
}

#[test]
fn proxy_does_not_send_the_token_of_the_user_who_started_it() {
    let (_server, agent, user) = scene();
    let mut command = user.command(&["serve", "--port", "0", "--store", "memory", "--proxy"]);
    command.arg(agent.address()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut proxy = command.spawn().unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(proxy.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    let address = line.trim().split_once("://").unwrap().1.to_owned();
    let run = user.run(&["send", "hello", "-a", &address]);
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("rejected the gateway's credentials"), "{run:?}");
}
