//! The page that browsers get at the root of an agent.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::net::SocketAddr;

use a2a_kit::{AgentCard, Agents, Engine, Server, agent_fn};
use a2a_kit_auth::server::{ApiKeys, Guard};
use axum::{Router, routing::get};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const BROWSER: &str =
    "accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

fn named(name: &str) -> Server {
    let card = AgentCard::new(name, "Says its name");
    let name = name.to_owned();
    Server::from(Engine::new(
        card,
        agent_fn(move |_: String| {
            let name = name.clone();
            async move { name }
        }),
    ))
}

/// Requires a key for the operations, and for the card too if it is private.
fn guarded(name: &str, has_private_card: bool) -> Server {
    let card = AgentCard::new(name, "Says its name")
        .with_security_scheme("key", a2a_kit::v1::SecurityScheme::api_key_header("x-key"))
        .requiring("key")
        .with_extended_card(true);
    let extended = card.clone().with_version("secret");
    let engine =
        Engine::builder(card, agent_fn(async |text: String| text)).extended_card(extended).build();
    let keys = ApiKeys::new().with_key("k", a2a_kit::operations::Caller::authenticated("ann"));
    let guard = Guard::new().with_verifier("key", keys);
    let guard = if has_private_card { guard.with_private_card() } else { guard };
    Server::from(engine).with_auth(guard)
}

async fn start(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

async fn start_all(agents: Agents) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { agents.serve(listener, std::future::pending()).await.unwrap() });
    address
}

/// Sends a request without a body, and returns the answer without its date.
async fn exchange(address: SocketAddr, line: &str, headers: &[&str]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let headers = headers.iter().map(|header| format!("{header}\r\n")).collect::<String>();
    let host = if headers.contains("host:") { String::new() } else { "host: 127.0.0.1\r\n".into() };
    let text = format!("{line} HTTP/1.1\r\n{host}{headers}connection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().filter(|line| !line.starts_with("date:")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn browser_gets_a_page_with_the_card_and_how_to_call_the_agent() {
    let address = start(named("Echo <b>")).await;
    let page = exchange(address, "GET /", &[BROWSER]).await;
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for text in [
        "content-type: text/html; charset=utf-8",
        "content-security-policy: default-src 'none'; style-src 'sha256-",
        "x-content-type-options: nosniff",
        "vary: accept",
        "<title>Echo &lt;b&gt;</title>",
        &format!("a2a send 'Hello' -a 'http://{address}'"),
        &format!("curl 'http://{address}'"),
        "create_client",
        &format!("href=\"http://{address}/.well-known/agent-card.json\""),
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    let head = exchange(address, "HEAD /", &[BROWSER]).await;
    assert!(head.starts_with("HTTP/1.1 200") && !head.contains("<html"), "{head}");
    let etag = page.lines().find(|line| line.starts_with("etag:")).unwrap();
    let known = etag.replace("etag:", "if-none-match:");
    let unchanged = exchange(address, "GET /", &[BROWSER, &known]).await;
    assert!(unchanged.starts_with("HTTP/1.1 304"), "{unchanged}");
}

#[tokio::test]
async fn clients_that_do_not_name_html_get_what_they_get_without_the_page() {
    let (with, without) = (start(named("Echo")).await, start(named("Echo").without_page()).await);
    for line in ["GET /", "HEAD /", "POST /", "OPTIONS /"] {
        for accept in [
            "x-none: 1",
            "accept: */*",
            "accept: application/json, text/plain, */*",
            "accept: application/json, text/html;q=0.9",
            "accept: application/a2a+json",
            "accept: text/html;q=0, */*",
        ] {
            let found = exchange(with, line, &[accept]).await;
            assert_eq!(found, exchange(without, line, &[accept]).await, "{line} {accept}");
            assert!(!found.contains("text/html"), "{line} {accept}: {found}");
        }
    }
    for line in ["GET /tasks", "POST /", "GET /x"] {
        let found = exchange(with, line, &[BROWSER]).await;
        assert_eq!(found, exchange(without, line, &[BROWSER]).await, "{line}");
    }
    assert!(exchange(without, "GET /", &[BROWSER]).await.starts_with("HTTP/1.1 405"));
}

#[tokio::test]
async fn own_route_comes_before_the_page() {
    let own = || Router::new().route("/", get(async || "mine"));
    let address = start(named("Echo").with_routes(own())).await;
    for accept in [BROWSER, "accept: */*"] {
        let answer = exchange(address, "GET /", &[accept]).await;
        assert!(answer.ends_with("\n\nmine"), "{answer}");
    }
    let local = "127.0.0.1:80".parse().unwrap();
    let agent = || named("Echo").mount(local, std::future::pending()).unwrap().router();
    let app = own().merge(agent());
    let nested = Router::new().route("/", get(async || "mine"));
    let app = nested.nest("/app", app).nest("/echo", agent());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    for path in ["/", "/app"] {
        let answer = exchange(address, &format!("GET {path}"), &[BROWSER]).await;
        assert!(answer.ends_with("\n\nmine"), "{path}: {answer}");
    }
    let page = exchange(address, "GET /echo", &[BROWSER]).await;
    assert!(page.contains("<title>Echo</title>"), "{page}");
}

#[tokio::test]
async fn page_is_as_public_as_the_card_and_never_the_extended_one() {
    let address = start(guarded("Keyed", false)).await;
    let page = exchange(address, "GET /", &[BROWSER]).await;
    assert!(page.contains("<dd>key</dd>") && page.contains("Version 1.0.0"), "{page}");
    let page = exchange(address, "GET /", &[BROWSER, "x-key: k"]).await;
    assert!(page.contains("Version 1.0.0") && !page.contains("secret"), "{page}");

    let address = start(guarded("Hidden", true)).await;
    let refused = exchange(address, "GET /", &[BROWSER]).await;
    assert!(refused.starts_with("HTTP/1.1 401") && !refused.contains("Hidden"), "{refused}");
    let page = exchange(address, "GET /", &[BROWSER, "x-key: k"]).await;
    assert!(page.contains("<title>Hidden</title>"), "{page}");
}

#[tokio::test]
async fn page_is_behind_the_guard_against_other_sites() {
    for address in
        [start(named("Echo")).await, start_all(Agents::new().at("/echo", named("Echo"))).await]
    {
        let rebound = exchange(address, "GET /", &[BROWSER, "host: evil.example"]).await;
        assert!(rebound.starts_with("HTTP/1.1 403") && !rebound.contains("Echo"), "{rebound}");
        let embedded =
            ["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"];
        let headers = [&[BROWSER], &embedded[..]].concat();
        let answer = exchange(address, "GET /", &headers).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        // A person who follows a link.
        let followed =
            ["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"];
        let headers = [&[BROWSER], &followed[..]].concat();
        let answer = exchange(address, "GET /", &headers).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let elsewhere = exchange(address, "GET /tasks", &headers).await;
        assert!(!elsewhere.starts_with("HTTP/1.1 200"), "{elsewhere}");
    }
}

#[tokio::test]
async fn each_agent_of_a_port_has_its_page_and_the_root_lists_them() {
    let several = || {
        Agents::new()
            .at("/planner", named("Planner"))
            .tenant("echo", named("Echo"))
            .host("named.localhost", named("Host"))
            .at("/hidden", guarded("Hidden", true))
            .at("/silent", named("Silent").without_page())
            .host("silent.localhost", named("Silent").without_page())
    };
    let address = start_all(several()).await;
    let root = exchange(address, "GET /", &[BROWSER]).await;
    assert!(root.contains("<title>Agents</title>"), "{root}");
    for link in [
        format!("href=\"http://{address}/planner\""),
        format!("href=\"http://{address}/echo\""),
        format!("href=\"http://named.localhost:{}\"", address.port()),
    ] {
        assert!(root.contains(&link), "{link}: {root}");
    }
    assert!(!root.contains("Hidden") && !root.contains("Silent"), "{root}");
    for (path, title) in
        [("/planner", "Planner"), ("/planner/", "Planner"), ("/echo", "Echo"), ("/echo/", "Echo")]
    {
        let page = exchange(address, &format!("GET {path}"), &[BROWSER]).await;
        assert!(page.contains(&format!("<title>{title}</title>")), "{path}: {page}");
    }
    let page = exchange(address, "GET /", &[BROWSER, "host: named.localhost"]).await;
    assert!(page.contains("<title>Host</title>"), "{page}");
    let silent = exchange(address, "GET /", &[BROWSER, "host: silent.localhost"]).await;
    assert!(silent.starts_with("HTTP/1.1 405"), "{silent}");
    // The error names the paths too.
    let error = exchange(address, "GET /", &["accept: */*"]).await;
    assert!(error.contains("404") && error.contains("agents are at /planner, /echo"), "{error}");
    let error = exchange(address, "GET /", &["host: evil.example"]).await;
    assert!(!error.contains("planner"), "{error}");

    let address = start_all(several().at("/", named("Root"))).await;
    let root = exchange(address, "GET /", &[BROWSER]).await;
    assert!(root.contains("<title>Root</title>"), "{root}");
    assert!(root.contains(&format!("href=\"http://{address}/planner\"")), "{root}");
}
