//! `a2a auth`: logins, and the tokens that they store.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};

use crate::{
    common::Run,
    common::authorization_server::{AuthorizationServer, CONFIDENTIAL, SECRET},
    common::login::Agent as Guarded,
    support::{Agent, Sandbox, assert_failure, over_each_binding},
};

/// An agent that requires a token of an authorization server, as its card declares.
struct Scene {
    server: AuthorizationServer,
    guarded: Guarded,
    agent: Agent,
}

impl Scene {
    fn new(flow: &str) -> Self {
        let server = AuthorizationServer::start();
        let guarded = Guarded::start(&server.url, &server.scheme(flow));
        let agent = Agent::at(guarded.address());
        Self { server, guarded, agent }
    }

    fn sandbox(&self) -> &Sandbox {
        &self.agent.sandbox
    }

    fn login(&self, more: &[&str]) -> Run {
        let login = ["auth", "login", "--no-browser", "--client-id", "cli"];
        self.agent.run(&[&login[..], more].concat())
    }

    /// Asserts that the stored token is used over each binding, and never printed.
    fn assert_logged_in(&self) {
        over_each_binding(|binding| {
            let run = self.agent.over(binding, &["send", "echo hello", "--debug"]);
            assert_eq!(run.field("State"), "COMPLETED", "{binding}: {run:?}");
            self.assert_redacted(&run);
        });
    }

    fn assert_redacted(&self, run: &Run) {
        let issued = self.server.records().issued.clone();
        for secret in issued.iter().map(String::as_str).chain([SECRET]) {
            let is_leaked = run.stdout.contains(secret) || run.stderr.contains(secret);
            assert!(!is_leaked, "{secret}: {run:?}");
        }
    }
}

#[test]
fn auth_005_device_login_shows_url_and_code_and_stores_a_token() {
    let scene = Scene::new("device");
    scene.server.records().is_approved = true;
    let run = scene.login(&["--debug"]);
    assert_eq!((run.code, run.field("Flow")), (0, "device"), "{run:?}");
    let url = format!("Open: {}", scene.server.at("/verify"));
    assert!(run.stderr.contains(&url) && run.stderr.contains("ABCD-EFGH"), "{run:?}");
    assert!(!run.stdout.contains("ABCD-EFGH"), "{run:?}");
    scene.assert_redacted(&run);
    scene.assert_logged_in();

    let denied = Scene::new("device");
    denied.server.records().errors.extend(["authorization_pending", "access_denied"]);
    assert_failure(&denied.login(&["-o", "json"]), "A2ACLI_ERR_AUTH_FAILED", 4);
    let limited = denied.login(&["-o", "json", "--timeout", "300ms"]);
    assert_failure(&limited, "A2ACLI_ERR_TIMEOUT", 5);
    assert_eq!(denied.sandbox().files("config/a2a-cli").len(), 0, "nothing is stored");
    drop(denied.guarded);
}

#[test]
fn auth_006_client_credentials_login_takes_the_secret_from_variable_or_file() {
    let scene = Scene::new("client-credentials");
    let login = ["auth", "login", "--client-id", CONFIDENTIAL, "-o", "json"];
    assert_failure(&scene.agent.run(&login), "A2ACLI_ERR_USAGE", 2);
    let wrong = scene.agent.run_with(&login, &[("A2ACLI_CLIENT_SECRET", "wrong-secret")]);
    assert_failure(&wrong, "A2ACLI_ERR_AUTH_FAILED", 4);
    let by_flag = scene.agent.run(&[&login[..], &["--client-secret", "x"]].concat());
    assert_failure(&by_flag, "A2ACLI_ERR_USAGE", 2);
    let by_variable = scene.agent.run_with(&login, &[("A2ACLI_CLIENT_SECRET", SECRET)]);
    assert_eq!(by_variable.json()["flow"], "client-credentials");
    scene.assert_redacted(&by_variable);
    scene.assert_logged_in();
    let file = scene.sandbox().write("secret", format!("{SECRET}\n"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let by_file = scene.agent.run(&[&login[..], &["--client-secret-file", &file]].concat());
    assert_eq!(by_file.code, 0, "{by_file:?}");
    scene.assert_redacted(&by_file);
}

#[test]
fn auth_007_tokens_are_stored_safely_refreshed_shown_without_their_value_and_forgotten() {
    let scene = Scene::new("device");
    scene.server.records().is_approved = true;
    assert_eq!(scene.login(&[]).code, 0);
    let store = scene.sandbox().home().join("config/a2a-cli/credentials.json");
    assert_eq!(fs::metadata(&store).unwrap().permissions().mode() & 0o777, 0o600);
    scene.assert_logged_in();
    let status = scene.agent.run(&["auth", "status"]);
    assert_eq!(status.field("Scheme"), "login", "{status:?}");
    assert!(!status.field("Expires").is_empty(), "{status:?}");
    scene.assert_redacted(&status);
    // An expired token is renewed.
    let text = fs::read_to_string(&store).unwrap();
    let mut stored: serde_json::Value = serde_json::from_str(&text).unwrap();
    stored["tokens"][0]["expiresAt"] = "2020-01-01T00:00:00Z".into();
    fs::write(&store, stored.to_string()).unwrap();
    scene.assert_logged_in();
    assert_eq!(scene.server.grants().last().unwrap(), "refresh_token");
    assert_eq!(fs::metadata(&store).unwrap().permissions().mode() & 0o777, 0o600);
    // Another host gets nothing, and neither does this one after a logout.
    let other = Guarded::start(&scene.server.url, &scene.server.scheme("device"));
    let send = ["send", "echo hello", "-o", "json", "-a", other.address()];
    let refused = scene.sandbox().run(&send);
    assert_failure(&refused, "A2ACLI_ERR_CREDENTIALS_MISSING", 4);
    assert!(refused.stdout.contains("a2a auth login"), "{refused:?}");
    assert_eq!(scene.agent.run(&["auth", "logout"]).code, 0);
    let forgotten = scene.agent.run(&["send", "echo hello", "-o", "json"]);
    assert_failure(&forgotten, "A2ACLI_ERR_CREDENTIALS_MISSING", 4);
}

#[test]
fn auth_010_open_id_connect_login_finds_the_endpoints_of_the_provider() {
    let scene = Scene::new("open-id");
    scene.server.records().is_approved = true;
    let run = scene.login(&[]);
    assert_eq!((run.code, run.field("Flow")), (0, "device"), "{run:?}");
    scene.assert_logged_in();

    let scene = Scene::new("open-id");
    let mut command = scene.agent.command(&["auth", "login", "--no-browser", "--client-id", "cli"]);
    command.args(["--flow", "auth-code"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut login = crate::common::login::Login::start(&mut command);
    assert_eq!(crate::common::login::browse(&login.label("Open")), 200);
    let run = login.end();
    scene.sandbox().record(&command, &run);
    assert_eq!((run.code, run.field("Flow")), (0, "auth-code"), "{run:?}");
    scene.assert_logged_in();
}
