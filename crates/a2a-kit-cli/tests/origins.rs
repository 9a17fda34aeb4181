//! Credentials of the command line keep to the origin of the card: an agent, and a card that
//! somebody else serves for it.

#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

mod common;

use common::{Run, Server, command};

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
