//! `a2a auth login`: each flow, at agents that verify the tokens.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::common::Run;
use crate::common::authorization_server::{AuthorizationServer, CONFIDENTIAL, SECRET};
use crate::common::login::{Agent, Login, User, browse};

fn agent(server: &AuthorizationServer, flow: &str) -> Agent {
    Agent::start(&server.url, &server.scheme(flow))
}

/// Asserts that a command shows no token and no secret.
fn assert_redacted(run: &Run, server: &AuthorizationServer) {
    for secret in server.records().issued.iter().map(String::as_str).chain([SECRET, "device-code"])
    {
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{secret}: {run:?}");
    }
}

#[test]
fn device_login_waits_for_the_user_and_its_token_is_sent_on_every_binding() {
    let server = AuthorizationServer::start();
    let agent = agent(&server, "device");
    let user = User::new();
    let mut login = user.login(&["-a", agent.address(), "--client-id", "cli", "--debug"]);
    assert_eq!(login.label("Open"), server.at("/verify"));
    assert_eq!(login.label("Code"), "ABCD-EFGH");
    while server.records().requests.len() < 3 {
        std::thread::yield_now();
    }
    server.records().errors.push_back("slow_down");
    server.records().is_approved = true;
    let run = login.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.field("Scheme"), "login");
    assert_eq!(run.field("Host"), agent.server.url());
    assert_eq!(run.field("Flow"), "device");
    assert_eq!(run.field("Scope"), "read");
    assert_redacted(&run, &server);
    for binding in ["jsonrpc", "rest", "grpc"] {
        let send = ["send", "echo hi", "-a", agent.address(), "--transport", binding, "--debug"];
        let sent = user.run(&send);
        assert_eq!(sent.field("State"), "COMPLETED", "{binding}: {sent:?}");
        assert_redacted(&sent, &server);
    }
    let extended = user.run(&["card", "get", "--extended", "-a", agent.address()]);
    assert_eq!(extended.code, 0, "{extended:?}");
}

#[test]
fn denied_or_expired_device_code_stores_nothing() {
    let server = AuthorizationServer::start();
    let agent = agent(&server, "device");
    let user = User::new();
    for error in ["access_denied", "expired_token"] {
        server.records().errors.extend(["authorization_pending", error]);
        let run = user.login(&["-a", agent.address(), "--client-id", "cli", "-o", "json"]).end();
        assert_eq!(run.code, 4, "{error}: {run:?}");
        assert_eq!(run.lines()[0]["error"]["code"], "A2ACLI_ERR_AUTH_FAILED", "{error}");
        assert!(!user.store().exists(), "{error}");
    }
    let waiting = ["-a", agent.address(), "--client-id", "cli", "--timeout", "300ms"];
    let run = user.login(&waiting).end();
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("A2ACLI_ERR_TIMEOUT"), "{run:?}");
}

#[test]
fn client_credentials_login_takes_the_secret_from_variable_or_file() {
    let server = AuthorizationServer::start();
    let agent = agent(&server, "client-credentials");
    let user = User::new();
    let arguments = ["auth", "login", "-a", agent.address(), "--client-id", CONFIDENTIAL];
    let without = user.run(&arguments);
    assert_eq!(without.code, 2, "{without:?}");
    assert!(without.stderr.contains("A2ACLI_CLIENT_SECRET"), "{without:?}");
    let wrong = Run::of(user.command(&arguments).env("A2ACLI_CLIENT_SECRET", "wrong secret"));
    assert_eq!(wrong.code, 4, "{wrong:?}");
    assert!(wrong.stderr.contains("invalid_client"), "{wrong:?}");
    assert!(!wrong.stderr.contains("wrong secret"), "{wrong:?}");
    assert!(!user.store().exists());

    let run = Run::of(user.command(&arguments).env("A2ACLI_CLIENT_SECRET", SECRET));
    assert_eq!(run.code, 0, "{run:?}");
    assert_redacted(&run, &server);
    let send = ["send", "echo hi", "-a", agent.address()];
    assert_eq!(user.run(&send).field("State"), "COMPLETED");
    assert!(!fs::read_to_string(user.store()).unwrap().contains(SECRET));
    // Without the secret it can't be renewed.
    user.expire();
    let expired = user.run(&send);
    assert_eq!(expired.code, 4, "{expired:?}");
    assert!(expired.stderr.contains("A2ACLI_CLIENT_SECRET"), "{expired:?}");
    let renewed = Run::of(user.command(&send).env("A2ACLI_CLIENT_SECRET", SECRET));
    assert_eq!(renewed.field("State"), "COMPLETED");

    fs::write(user.path("secret"), format!("{SECRET}\n")).unwrap();
    let by_file = user.run(&[&arguments[..], &["--client-secret-file", "secret"]].concat());
    assert_eq!(by_file.code, 0, "{by_file:?}");
    user.expire();
    let renewed = Run::of(user.command(&send).current_dir("/"));
    assert_eq!(renewed.field("State"), "COMPLETED");
    assert_eq!(user.tokens().as_array().unwrap().len(), 1, "the same agent and scheme");
    let before = server.records().requests.len();
    assert_eq!(user.run(&send).field("State"), "COMPLETED");
    assert_eq!(server.records().requests.len(), before, "the renewed token was stored");
}

#[test]
fn authorization_code_login_uses_pkce_and_a_loopback_redirect() {
    let server = AuthorizationServer::start();
    let agent = agent(&server, "auth-code");
    let user = User::new();
    let arguments = ["-a", agent.address(), "--client-id", "cli", "--no-browser", "-o", "json"];
    let mut login = user.login(&arguments);
    assert_eq!(browse(&login.label("Open")), 200);
    let run = login.end();
    assert_eq!(run.json()["flow"], "auth-code");
    assert_redacted(&run, &server);
    assert!(server.records().requests[0].contains_key("code_verifier"));
    assert_eq!(user.run(&["send", "echo hi", "-a", agent.address()]).field("State"), "COMPLETED");

    server.records().errors.push_back("access_denied");
    let mut denied = user.login(&arguments);
    browse(&denied.label("Open"));
    let denied = denied.end();
    assert_eq!(denied.code, 4, "{denied:?}");
    assert_eq!(user.tokens().as_array().unwrap().len(), 1, "the earlier token is kept");
}

#[cfg(target_os = "linux")]
#[test]
fn authorization_code_login_starts_a_browser() {
    let server = AuthorizationServer::start();
    let agent = agent(&server, "auth-code");
    let user = User::new();
    // A browser that leaves the URL in a file.
    let (programs, opened) = (user.path("bin"), user.path("opened"));
    fs::create_dir(&programs).unwrap();
    let browser = programs.join("xdg-open");
    let script = format!("#!/bin/sh\necho \"$1\" > {0}.new\nmv {0}.new {0}\n", opened.display());
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let mut command = user.command(&["auth", "login", "-a", agent.address(), "--client-id", "cli"]);
    let mut login = Login::start(command.env("PATH", path));
    let printed = login.label("Open");
    while !opened.exists() {
        std::thread::yield_now();
    }
    let url = fs::read_to_string(&opened).unwrap();
    assert_eq!(url.trim(), printed);
    assert_eq!(browse(url.trim()), 200);
    assert_eq!(login.end().code, 0);
}

#[test]
fn open_id_connect_login_finds_the_flows_of_the_provider() {
    let server = AuthorizationServer::start();
    let agent = agent(&server, "open-id");
    let arguments = ["-a", agent.address(), "--client-id", "cli"];
    server.records().is_approved = true;
    let user = User::new();
    let run = user.login(&arguments).end();
    assert_eq!(run.field("Flow"), "device");
    assert_eq!(user.run(&["send", "echo hi", "-a", agent.address()]).field("State"), "COMPLETED");

    let user = User::new();
    let mut login =
        user.login(&[&arguments[..], &["--flow", "auth-code", "--no-browser"]].concat());
    let url = login.label("Open");
    assert!(url.contains("scope=read"), "{url}");
    assert_eq!(browse(&url), 200);
    assert_eq!(login.end().field("Flow"), "auth-code");
    assert_eq!(user.run(&["send", "echo hi", "-a", agent.address()]).field("State"), "COMPLETED");
}

#[test]
fn flags_replace_the_endpoints_and_scopes_of_the_card() {
    let server = AuthorizationServer::start();
    let scheme = serde_json::json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" } });
    let agent = Agent::start(&server.url, &scheme);
    let user = User::new();
    let arguments = ["auth", "login", "-a", agent.address(), "--client-id", "cli"];
    let nowhere = user.run(&arguments);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    assert!(nowhere.stderr.contains("--token-url"), "{nowhere:?}");
    server.records().is_approved = true;
    let (token, device) = (server.at("/token"), server.at("/device"));
    let urls = ["--token-url", &*token, "--device-url", &*device];
    let scopes = ["--scope", "read", "--scope", "write"];
    let run = user.run(&[&arguments[..], &urls, &scopes].concat());
    assert_eq!(run.field("Scope"), "read write");
    assert_eq!(user.run(&["send", "echo hi", "-a", agent.address()]).field("State"), "COMPLETED");
    for url in ["http://login.example/token", "ftp://login.example"] {
        let insecure = user.run(&[&arguments[..], &["--token-url", url]].concat());
        assert_eq!(insecure.code, 4, "{insecure:?}");
        assert!(insecure.stderr.contains(url), "{insecure:?}");
    }
}

#[test]
fn login_without_a_fitting_scheme_names_those_of_the_card() {
    let server = AuthorizationServer::start();
    let agent = agent(&server, "device");
    let user = User::new();
    let login =
        |more: &[&str]| user.run(&[&["auth", "login", "-a", agent.address()], more].concat());
    for (more, said) in [
        (&[][..], "--client-id"),
        (&["--client-id", "cli", "--scheme", "other"], "login (OAuth 2.0)"),
        (&["--client-id", "cli", "--flow", "auth-code"], "authorization URL"),
    ] {
        let run = login(more);
        assert_eq!(run.code, 2, "{more:?}: {run:?}");
        assert!(run.stderr.contains(said), "{more:?}: {run:?}");
    }
    assert!(!user.store().exists());
}

#[test]
fn login_at_two_servers_needs_a_flag_that_names_both() {
    let (honest, other) = (AuthorizationServer::start(), AuthorizationServer::start());
    let mut code = honest.scheme("auth-code");
    let mut device = honest.scheme("device");
    let flows = "/oauth2SecurityScheme/flows";
    for (scheme, flow) in [(&mut code, "authorizationCode"), (&mut device, "deviceCode")] {
        let token = scheme.pointer_mut(&format!("{flows}/{flow}/tokenUrl")).unwrap();
        *token = other.at("/token").into();
    }
    let both = format!("{},{}", honest.url, other.url);
    let token = other.at("/token");
    for (scheme, allow) in [
        (&code, &["--oauth-origin", &both][..]),
        (&code, &["--token-url", &token]),
        (&device, &["--oauth-origin", &both]),
    ] {
        let agent = Agent::start(&honest.url, scheme);
        let user = User::new();
        let arguments = ["-a", agent.address(), "--client-id", "cli", "--no-browser"];
        let limited = [&arguments[..], &["--timeout", "3s"]].concat();
        let refused = user.login(&limited).end();
        assert_eq!(refused.code, 4, "{refused:?}");
        for said in [&*honest.url, &*other.url, &*format!("--oauth-origin {both}")] {
            assert!(refused.stderr.contains(said), "{said}: {refused:?}");
        }
        assert!(other.records().requests.is_empty(), "{refused:?}");

        let mut login = user.login(&[&arguments[..], allow].concat());
        let noted = login.label("note");
        assert!(noted.contains(&honest.url) && noted.contains(&other.url), "{noted}");
        let page = login.label("Open");
        if scheme == &code {
            browse(&page);
        }
        other.records().errors.push_back("access_denied");
        let denied = login.end();
        assert_eq!(denied.code, 4, "{denied:?}");
        assert!(!std::mem::take(&mut other.records().requests).is_empty(), "{denied:?}");
    }
}
