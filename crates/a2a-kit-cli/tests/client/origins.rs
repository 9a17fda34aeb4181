//! Credentials of the command line keep to the origin of the card: an agent, and a card that
//! somebody else serves for it.

use crate::common::{Run, Server, command, home::Home};
use a2a_tests::attack::Recorder;
use serde_json::json;

/// An agent that only lets in who shows a token or a key, and another server whose card says
/// that it is that agent.
fn scene() -> (Server, Server) {
    let agent = Server::start(&["--require-bearer", "t0ken"]);
    let registry = Server::start(&["--public-url", &agent.url(), "--require-bearer", "t0ken"]);
    (agent, registry)
}

const BINDINGS: [&str; 3] = ["jsonrpc", "rest", "grpc"];

#[test]
fn a_credential_goes_to_another_origin_than_the_cards_only_if_that_is_named() {
    let (agent, registry) = scene();
    for binding in BINDINGS {
        for secret in [["--bearer", "t0ken"], ["--svc-param", "authorization:Bearer t0ken"]] {
            let send = [&["send", "hello", "--transport", binding][..], &secret].concat();
            let refused = registry.run(&send);
            assert_eq!(refused.code, 4, "{binding}: {refused:?}");
            let option = format!("--credential-origin {}", agent.url());
            for said in [&*agent.url(), &*registry.url(), &*option] {
                assert!(refused.stderr.contains(said), "{binding} {said}: {refused:?}");
            }
            assert!(!refused.stderr.contains("t0ken"), "{binding}: {refused:?}");
            let url = agent.url();
            let named = [&send[..], &["--credential-origin", &url]].concat();
            assert_eq!(registry.run(&named).field("State"), "COMPLETED", "{binding}");
        }
    }
    let by_variable = Run::of(
        command()
            .args(["send", "hello", "-a", &registry.address, "--bearer", "t0ken"])
            .env("A2ACLI_CREDENTIAL_ORIGIN", format!("https://a.example,{}", agent.url())),
    );
    assert_eq!(by_variable.field("State"), "COMPLETED");
    // Without a credential the agent is asked, and it says what it thinks of that.
    let without = registry.run(&["send", "hello"]);
    assert_eq!(without.code, 4, "{without:?}");
    assert!(without.stderr.contains("CREDENTIALS_MISSING"), "{without:?}");
}

#[test]
fn a_binding_at_the_origin_of_the_card_is_used_and_one_that_was_asked_for_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("a2a.toml");
    std::fs::write(&settings, "[listen]\ngrpc_port = 0\n").unwrap();
    let server =
        Server::start(&["--settings", settings.to_str().unwrap(), "--require-bearer", "t0ken"]);
    let send = ["send", "hello", "--bearer", "t0ken"];
    assert_eq!(server.run(&send).field("State"), "COMPLETED");
    // gRPC is at a port of its own here.
    let asked = server.run(&[&send[..], &["--transport", "grpc"]].concat());
    assert_eq!(asked.code, 4, "{asked:?}");
    let hint = asked.stderr.split("--credential-origin ").nth(1).unwrap();
    let origin = hint.split_whitespace().next().unwrap();
    let allowed = ["--transport", "grpc", "--credential-origin", origin];
    assert_eq!(server.run(&[&send[..], &allowed].concat()).field("State"), "COMPLETED");
    let either = server.run(&[&send[..], &["--transport", "grpc,rest"]].concat());
    assert_eq!(either.field("State"), "COMPLETED");
    assert!(either.stderr.contains("note: using HTTP+JSON"), "{either:?}");
}

#[test]
fn a_proxy_passes_the_credentials_of_its_callers_on_only_to_where_the_card_is() {
    let (agent, registry) = scene();
    let proxy = ["serve", "--port", "0", "--proxy", &registry.address];
    for more in [&["--forward-auth"][..], &["--bearer", "t0ken"]] {
        let refused = Run::of(command().args(proxy).args(more));
        assert_eq!(refused.code, 4, "{refused:?}");
        assert!(refused.stderr.contains("--credential-origin"), "{refused:?}");
    }
    let agent = agent.url();
    let allowed = ["--forward-auth", "--credential-origin", &agent];
    let proxy = Server::start(&[&["--proxy", &registry.address][..], &allowed].concat());
    assert_eq!(proxy.run(&["send", "hello", "--bearer", "t0ken"]).field("State"), "COMPLETED");
    assert_eq!(proxy.run(&["send", "hello"]).code, 4);
}

const SECRET: &str = "s3cret-of-the-user";

/// The table of origins in `docs/login.md`: what a server names elsewhere gets no secret unless
/// the user allows it.
#[tokio::test(flavor = "multi_thread")]
async fn another_origin_gets_no_secret_from_a_card_a_catalog_or_a_redirect() {
    let (server, other) = (Recorder::start().await, Recorder::start().await);
    let home = Home::new();
    let inline = server.card(&other.url);
    let allowed = vec!["--credential-origin".to_owned(), other.url.clone()];
    let direct = vec!["-a".to_owned(), other.url.clone()];
    let card_file = home.write("card.json", &inline.to_string());
    let entry = json!([{"name": "w", "url": other.url}]).to_string();
    let local = format!("catalog+{}#w", home.write("agents.json", &entry));
    type SetUp<'a> = Box<dyn Fn() -> String + 'a>;
    let rows: [(&str, SetUp<'_>, bool, Option<&Vec<String>>); 8] = [
        (
            "interface elsewhere",
            Box::new(|| {
                server.serve_card_of(&other.url);
                server.url.clone()
            }),
            false,
            Some(&allowed),
        ),
        (
            "catalog entry elsewhere",
            Box::new(|| server.catalog(&json!({"url": other.url}))),
            false,
            Some(&allowed),
        ),
        (
            "catalog entry elsewhere, named by the user",
            Box::new(|| server.catalog(&json!({"url": other.url}))),
            false,
            Some(&direct),
        ),
        (
            "card in a catalog",
            Box::new(|| server.catalog(&json!({"card": inline}))),
            false,
            Some(&allowed),
        ),
        ("card in a file", Box::new(|| card_file.clone()), true, None),
        ("entry of a local catalog", Box::new(|| local.clone()), true, None),
        (
            "redirect of the card",
            Box::new(|| {
                server.redirect("/.well-known/agent-card.json", &other);
                server.url.clone()
            }),
            false,
            None,
        ),
        (
            "redirect of a call",
            Box::new(|| {
                server.serve_card_of(&format!("{}/rpc", server.url));
                server.redirect("/rpc", &other);
                server.url.clone()
            }),
            false,
            None,
        ),
    ];
    for (name, set_up, is_sent, allow) in &rows {
        for secret in [
            ("A2ACLI_BEARER", SECRET),
            ("A2ACLI_BASIC", "ann:s3cret-of-the-user"),
            ("A2ACLI_SVC_PARAM", "x-key:s3cret-of-the-user"),
        ] {
            // The card declares no scheme for passwords.
            if secret.0 == "A2ACLI_BASIC" && (*is_sent || allow.is_some()) {
                continue;
            }
            let reference = set_up();
            let send = |more: &[String]| {
                let mut command = home.command();
                command.args(["send", "hi", "--card-auth", "--no-cache"]).envs([secret]);
                // The last reference counts.
                let named = more.iter().any(|one| one == "-a");
                if !named {
                    command.args(["-a", &reference]);
                }
                let run = Run::of(command.args(more));
                let arrived = other.take();
                let is_sent = arrived.iter().any(|one| {
                    one.contains(SECRET) || one.contains("YW5uOnMzY3JldC1vZi10aGUtdXNlcg")
                });
                (run, is_sent)
            };
            let (run, arrived) = send(&[]);
            assert_eq!(arrived, *is_sent, "{name} {secret:?}: {run:?}");
            assert_eq!(run.code == 0, *is_sent, "{name} {secret:?}: {run:?}");
            let Some(allow) = allow else { continue };
            let hint = format!("--credential-origin {}", other.url);
            assert!(run.stderr.contains(&hint), "{name} {secret:?}: {run:?}");
            let (run, arrived) = send(allow);
            assert!(arrived && run.code == 0, "{name} {secret:?}: {run:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_of_the_agent_and_stored_token_reach_an_agent_that_a_catalog_names() {
    let (server, other) = (Recorder::start().await, Recorder::start().await);
    let reference = server.catalog(&json!({"url": other.url}));
    let home = Home::new();
    let send = || Run::of(home.command().args(["send", "hi", "-a", &reference]));
    let file = home.agents().join(format!("{}.env", other.address().replace(':', "_")));
    home.write(&file, &format!("A2ACLI_BEARER={SECRET}\n"));
    assert_eq!(send().code, 0);
    assert!(other.take().iter().any(|one| one.contains(SECRET)));
    std::fs::remove_file(file).unwrap();
    let token = json!({
        "card": other.url, "scheme": "login", "hosts": [other.url], "flow": "client-credentials",
        "clientId": "c", "scopes": [], "tokenUrl": format!("{}/token", other.url),
        "accessToken": SECRET,
    });
    let store = json!({"version": 1, "tokens": [token]}).to_string();
    home.write(home.config().join("credentials.json"), &store);
    assert_eq!(send().code, 0);
    assert!(other.take().iter().any(|one| one.contains(SECRET)));
    // The secret of a file that was found is not bound to that agent.
    let found = home.write(home.project().join(".env"), &format!("A2ACLI_BEARER={SECRET}\n"));
    let refused = send();
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(!other.take().iter().any(|one| one.contains(SECRET)), "{refused:?}");
    std::fs::remove_file(found).unwrap();
    // A card that moves its interface does not take the token along.
    let third = Recorder::start().await;
    other.serve_card_of(&third.url);
    let run = send();
    assert!(run.stderr.contains("the stored token is not sent"), "{run:?}");
    assert!(!third.take().iter().any(|one| one.contains(SECRET)), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn client_secret_is_not_sent_where_a_token_url_redirects_to() {
    let (server, other) = (Recorder::start().await, Recorder::start().await);
    server.redirect("/token", &other);
    let home = Home::new();
    let login = ["auth", "login", "--client-id", "c", "--flow", "client-credentials"];
    let run = Run::of(
        home.command().args(login).args(["-a", &server.url]).env("A2ACLI_CLIENT_SECRET", SECRET),
    );
    assert_eq!(run.code, 4, "{run:?}");
    assert!(server.take().iter().any(|one| one.starts_with("POST /token")), "{run:?}");
    assert_eq!(other.take(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn login_at_an_agent_that_a_catalog_names_elsewhere_needs_its_origin() {
    let (server, other) = (Recorder::start().await, Recorder::start().await);
    let reference = server.catalog(&json!({"url": other.url}));
    let home = Home::new();
    let login = ["auth", "login", "--client-id", "c", "--flow", "client-credentials", "-a"];
    let run = |more: &[&str]| {
        let mut command = home.command();
        command.args(login).arg(&reference).args(more).env("A2ACLI_CLIENT_SECRET", SECRET);
        Run::of(&mut command)
    };
    let refused = run(&[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(&format!("--credential-origin {}", other.url)), "{refused:?}");
    assert_eq!(other.take(), [""; 0]);
    run(&["--credential-origin", &other.url]);
    assert!(other.take().iter().any(|one| one.starts_with("POST /token")));
}
