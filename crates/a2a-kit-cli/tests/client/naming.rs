//! Naming an agent: catalogs, old paths of cards, and credentials for the card itself.

use std::sync::{Arc, Mutex};

use crate::common::{Run, Server, command, home::Home};
use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, LOCATION, WWW_AUTHENTICATE},
};
use serde_json::{Value, json};

/// What a web server responds with at each path; the requests that it received.
#[derive(Clone, Default)]
struct Site {
    requests: Arc<Mutex<Vec<(String, HeaderMap)>>>,
    card: String,
    /// The status and the header of a response to a request without `authorization`.
    denial: Option<(StatusCode, Option<&'static str>)>,
    catalog: String,
    redirect: String,
}

impl Site {
    async fn start(&self) -> String {
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(respond).with_state(self.clone());
        let server = a2a_kit_http::HttpServer::new(router);
        tokio::spawn(server.serve(listener, std::future::pending()));
        address
    }

    fn requests(&self) -> Vec<(String, HeaderMap)> {
        self.requests.lock().unwrap().clone()
    }
}

async fn respond(State(site): State<Site>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let headers = request.headers().clone();
    let is_anonymous = !headers.contains_key(AUTHORIZATION) && !headers.contains_key("x-api-key");
    site.requests.lock().unwrap().push((path.clone(), headers));
    match (path.as_str(), site.denial) {
        ("/.well-known/agent-card.json", Some((status, challenge))) if is_anonymous => {
            match challenge {
                Some(challenge) => (status, [(WWW_AUTHENTICATE, challenge)]).into_response(),
                None => status.into_response(),
            }
        }
        ("/.well-known/agent-card.json", _) if !site.redirect.is_empty() => {
            (StatusCode::FOUND, [(LOCATION, site.redirect)]).into_response()
        }
        ("/.well-known/agent-card.json", _) if !site.card.is_empty() => site.card.into_response(),
        ("/agents.json", _) if !site.catalog.is_empty() => site.catalog.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn card(url: &str) -> Value {
    json!({
        "name": "A", "description": "", "version": "1",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": false}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "skills": [],
    })
}

#[test]
fn catalog_entry_names_an_agent_wherever_a_card_is_named() {
    let server = Server::start(&["--require-bearer", "t0ken"]);
    let home = Home::new();
    let catalog = json!([{"name": "demo", "url": server.address}]);
    let catalog = home.write(home.working().join("agents.json"), &catalog.to_string());
    let reference = format!("catalog+{catalog}#demo");
    // The settings file of the agent applies.
    let (host, port) = server.address.split_once(':').unwrap();
    home.write(home.agents().join(format!("{host}_{port}.env")), "A2ACLI_BEARER=t0ken\n");
    let send = ["send", "hello", "-a", &reference];
    let sent = Run::of(home.command().args(send));
    assert_eq!(sent.field("State"), "COMPLETED", "{sent:?}");
    let note = format!("note: {reference} is http://{}/", server.address);
    assert!(sent.stderr.starts_with(&note), "{sent:?}");
    let relative = Run::of(home.command().args(["card", "get", "-a", "catalog+agents.json#demo"]));
    assert_eq!(relative.code, 0, "{relative:?}");

    let missing = Run::of(home.command().args(["send", "x", "-a", "catalog+./agents.json#other"]));
    assert_eq!(missing.code, 3, "{missing:?}");
    assert!(missing.stderr.contains("no agent \"other\" in catalog ./agents.json"), "{missing:?}");
    assert!(missing.stderr.contains("the catalog has: demo"), "{missing:?}");
    let unnamed = Run::of(home.command().args(["send", "x", "-a", "catalog+./agents.json"]));
    assert_eq!(unnamed.code, 2, "{unnamed:?}");
    assert!(unnamed.stderr.contains("such as #?, lists its entries"), "{unnamed:?}");
    let listed = Run::of(home.command().args(["card", "get", "-a", "catalog+./agents.json#?"]));
    assert!(listed.stderr.contains("the catalog has: demo"), "{listed:?}");

    let proxy = Server::start(&["--proxy", &reference, "--bearer", "t0ken"]);
    assert_eq!(proxy.run(&["send", "hello"]).field("State"), "COMPLETED");
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_catalog_contains_cards_and_does_not_name_files() {
    let agent = Server::start(&[]);
    let site = Site {
        catalog: json!([
            {"name": "inline", "card": card(&agent.url())},
            {"name": "file", "url": "./card.json"},
        ])
        .to_string(),
        ..Site::default()
    };
    let address = site.start().await;
    let get = |name: &str| {
        let reference = format!("catalog+{address}/agents.json#{name}");
        Run::of(command().args(["card", "get", "--bearer", "t0ken", "-a", &reference]))
    };
    let inline = get("inline");
    assert_eq!((inline.code, inline.field("Name")), (0, "A"), "{inline:?}");
    let file = get("file");
    assert_eq!(file.code, 1, "{file:?}");
    assert!(file.stderr.contains("refers to a local file"), "{file:?}");
    let is_secret = |(_, headers): &(String, HeaderMap)| headers.contains_key(AUTHORIZATION);
    assert!(!site.requests().iter().any(is_secret), "the catalog received the credential");

    // The origin of the card is that of the catalog.
    let reference = format!("catalog+{address}/agents.json#inline");
    let send = ["send", "hello", "--bearer", "t0ken", "-a", &reference];
    let refused = Run::of(command().args(send));
    assert_eq!(refused.code, 4, "{refused:?}");
    let hint = format!("--credential-origin {}", agent.url());
    assert!(refused.stderr.contains(&hint), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn card_is_fetched_again_with_the_credential_that_the_server_asks_for() {
    let site = Site {
        card: card("http://127.0.0.1:9").to_string(),
        denial: Some((StatusCode::UNAUTHORIZED, Some("Bearer realm=\"cards\""))),
        ..Site::default()
    };
    let address = site.start().await;
    let home = Home::new();
    let get = |arguments: &[&str]| {
        Run::of(home.command().args(["card", "get", "-a", &address]).args(arguments))
    };
    let run = get(&["--bearer", "t0ken"]);
    assert_eq!(run.code, 0, "{run:?}");
    let sent: Vec<_> = site
        .requests()
        .into_iter()
        .map(|(_, headers)| headers.get(AUTHORIZATION).cloned())
        .collect();
    assert_eq!(sent.len(), 2);
    assert!(sent[0].is_none());
    assert_eq!(sent[1].as_ref().unwrap(), "Bearer t0ken");
    assert!(!home.cache().exists(), "the answer to a credential was cached");

    // A credential of another kind is not sent.
    let other = get(&["--api-key", "k3y"]);
    assert_eq!(other.code, 4, "{other:?}");
    assert!(other.stderr.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{other:?}");
    assert!(other.stderr.contains("--card-auth"), "{other:?}");
    let without = get(&[]);
    assert!(without.stderr.contains("A2ACLI_BEARER"), "{without:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn card_auth_sends_the_credential_with_the_first_request() {
    let site = Site {
        card: card("http://127.0.0.1:9").to_string(),
        denial: Some((StatusCode::FORBIDDEN, None)),
        ..Site::default()
    };
    let address = site.start().await;
    for (credential, header, expected) in [
        (["--bearer", "t0ken"], "authorization", "Bearer t0ken"),
        (["--basic", "ann:pass"], "authorization", "Basic YW5uOnBhc3M="),
        (["--api-key", "k3y"], "x-api-key", "k3y"),
    ] {
        site.requests.lock().unwrap().clear();
        let get = ["card", "get", "--card-auth", "-a", &address];
        let run = Run::of(command().args(get).args(credential));
        assert_eq!(run.code, 0, "{run:?}");
        let requests = site.requests();
        assert_eq!(requests.len(), 1, "{credential:?}");
        assert_eq!(requests[0].1[header], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_to_another_origin_gets_no_credential() {
    let other = Site { card: card("http://127.0.0.1:9").to_string(), ..Site::default() };
    let target = format!("http://{}/.well-known/agent-card.json", other.start().await);
    let address = Site { redirect: target.clone(), ..Site::default() }.start().await;
    let get = ["card", "get", "--card-auth", "--bearer", "t0ken", "-a", &address];
    let run = Run::of(command().args(get));
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains(&format!("redirects to {target}")), "{run:?}");
    assert!(other.requests().is_empty(), "the redirect was followed");
}

#[test]
fn address_of_grpc_without_a_scheme_is_plaintext_if_that_is_requested() {
    let server = Server::start(&["--host", "0.0.0.0"]);
    let (_, port) = server.address.rsplit_once(':').unwrap();
    // An address of this machine that is no loopback address.
    let address = format!("0.0.0.0:{port}");
    let send = ["send", "hello", "--transport", "grpc", "-e", &address];
    let encrypted = Run::of(command().args(send));
    assert_eq!(encrypted.code, 3, "{encrypted:?}");
    let plaintext = Run::of(command().args(send).arg("--grpc-plaintext"));
    assert_eq!(plaintext.field("State"), "COMPLETED", "{plaintext:?}");
    let bench = ["bench", "--requests", "2", "--transport", "grpc", "-e", &address];
    let bench = [&bench[..], &["--i-own-this-agent", "--grpc-plaintext"]].concat();
    let measured = Run::of(command().args(bench));
    assert_eq!(measured.code, 0, "{measured:?}");
}
