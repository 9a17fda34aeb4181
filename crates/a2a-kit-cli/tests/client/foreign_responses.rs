//! Responses that are not of the protocol: the error says what came from where, and what to do.

use crate::common::{Run, Server, command};
use a2a_test_certificates::Folder;
use axum::{
    Json, Router,
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    routing::get,
};
use serde_json::{Value, json};

const CARD: &str = "/.well-known/agent-card.json";

fn card(binding: &str, url: &str) -> Value {
    json!({
        "name": "A", "description": "", "version": "1", "skills": [],
        "supportedInterfaces": [
            {"url": url, "protocolBinding": binding, "protocolVersion": "1.0"},
        ],
        "capabilities": {}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
    })
}

/// Serves what `router` makes of the URL of the server.
async fn serve(router: impl FnOnce(&str) -> Router) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = router(&format!("http://{address}"));
    let server = a2a_kit_http::HttpServer::new(router);
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

/// An agent that answers every call alike.
async fn agent(
    binding: &str,
    answer: impl Fn() -> Response<Body> + Clone + Send + Sync + 'static,
) -> String {
    serve(|url| {
        let card = card(binding, url);
        Router::new().route(CARD, get(async move || Json(card))).fallback(async move || answer())
    })
    .await
}

fn answer(status: u16, kind: &str, body: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
    response
}

fn send(agent: &str, arguments: &[&str]) -> Run {
    Run::of(command().args(["send", "hello", "-a", agent]).args(arguments))
}

#[tokio::test(flavor = "multi_thread")]
async fn error_says_what_came_and_from_which_url() {
    let detail = r#"{"detail":[{"loc":["body","message"],"msg":"field required"}]}"#;
    let page = "<!doctype html><html><title>Sign in</title></html>";
    let page_type =
        "(content type text/html, page titled \"Sign in\"): HTTP status 200 from http://{}";
    for binding in ["JSONRPC", "HTTP+JSON"] {
        for (status, kind, body, expected) in [
            (200, "text/html", page, page_type),
            (200, "text/html", page, ": \"<!doctype html><html>"),
            (200, "text/plain", "hello there", "\"hello there\" (content type text/plain)"),
            (422, "application/json", detail, "field required"),
            (
                422,
                "application/json",
                detail,
                "status 422: {\"detail\":[{\"loc\":[\"body\",\"message\"],\"msg\":\"field required\"}]}: \
                 response from http://{}",
            ),
            (
                404,
                "application/json",
                r#"{"detail":"Not Found"}"#,
                "Not Found: HTTP status 404 from http://{}",
            ),
            (500, "text/plain", "", "HTTP status 500: response from http://{}"),
            (200, "application/json", r#"{"a":1}"#, "HTTP status 200 from http://{}"),
        ] {
            let body = body.to_owned();
            let address = agent(binding, move || answer(status, kind, &body)).await;
            let run = send(&address, &["--transport", binding]);
            assert_ne!(run.code, 0, "{binding} {status} {expected}: {run:?}");
            let expected = expected.replace("{}", &address);
            assert!(run.stderr.contains(&expected), "{binding} {status} {expected}: {run:?}");
            assert!(!run.stderr.contains("line 1 column 1"), "{binding} {status}: {run:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_says_where_it_leads() {
    let address = agent("JSONRPC", || {
        let mut response = answer(307, "text/plain", "");
        response
            .headers_mut()
            .insert(header::LOCATION, HeaderValue::from_static("https://login.example/in"));
        response
    })
    .await;
    let run = send(&address, &[]);
    assert!(run.stderr.contains("which redirects to https://login.example/in"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn error_has_what_the_agent_added_to_it() {
    for (error, expected) in [
        (
            json!({"code": -32602, "message": "Invalid params", "data": [{"msg": "field required"}]}),
            r#"Invalid params: [{"msg":"field required"}]"#,
        ),
        (json!({"code": -32603}), "error -32603 without a message"),
        (
            json!({"code": -32602, "message": "no", "data": [{
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": "message.parts", "description": "is required"}],
            }]}),
            "Message: no: message.parts is required",
        ),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
        let address = agent("JSONRPC", move || answer(200, "application/json", &body)).await;
        let run = send(&address, &[]);
        assert!(run.stderr.contains(expected), "{expected}: {run:?}");
        assert!(!run.stderr.contains("HTTP status"), "{run:?}");
    }
    let address = agent("JSONRPC", || {
        let mut response = answer(401, "text/plain", "");
        let challenge = r#"Bearer error="invalid_token", error_description="The token expired""#;
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        response
    })
    .await;
    let run = send(&address, &["--svc-param", "authorization:Bearer x"]);
    assert!(run.stderr.contains("The token expired"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hint_names_the_next_step() {
    let task =
        json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}});
    let old = json!({"jsonrpc": "2.0", "id": 1, "result": task}).to_string();
    let address = agent("JSONRPC", move || answer(200, "application/json", &old)).await;
    let run = send(&address, &[]);
    assert!(run.stderr.contains("try --a2a-version 0.3"), "{run:?}");

    let address = agent("HTTP+JSON", || answer(413, "text/plain", "too large")).await;
    let run = send(&address, &[]);
    assert!(run.stderr.contains("refer to files by URL"), "{run:?}");

    for (status, retry_after, expected) in [
        (429, Some("7"), "Hint: the agent limits requests: retry after 7s"),
        (429, None, "Hint: the agent limits requests: retry later, or send fewer"),
    ] {
        let address = agent("JSONRPC", move || {
            let mut response = answer(status, "text/plain", "");
            let delay = retry_after.map(HeaderValue::from_static);
            response.headers_mut().extend(delay.map(|delay| (header::RETRY_AFTER, delay)));
            response
        })
        .await;
        let run = send(&address, &[]);
        assert_eq!(run.code, 1, "{run:?}");
        for part in ["Error: A2AX_ERR_LIMITED\n", expected] {
            assert!(run.stderr.contains(part), "{part}: {run:?}");
        }
    }

    let server = Server::start(&[]);
    let url = format!("{}/nope", server.url());
    let run = Run::of(command().args(["send", "hello", "-e", &url, "--transport", "jsonrpc"]));
    let hint = format!("Hint: {url} does not serve JSONRPC: check its path, and --transport");
    assert!(run.stderr.contains(&hint), "{run:?}");
    let run = server.run(&["task", "get", "nope"]);
    let command = format!("`a2a task list -a {}`", server.address);
    assert!(run.stderr.contains(&command), "{run:?}");
    let run = server.run(&["send", "slow 5", "--timeout", "1s"]);
    let noted = run.stderr.strip_prefix("note: task ").unwrap().split(' ').next().unwrap();
    let command = format!("a2a task subscribe {noted} -a {}\n", server.address);
    assert!(run.stderr.contains(&command), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_interface_is_said_to_be_named_by_the_card() {
    let gone = a2a_kit_http::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{gone}");
    let named = url.clone();
    let address = serve(|_| {
        let card = card("JSONRPC", &named);
        Router::new().route(CARD, get(async move || Json(card)))
    })
    .await;
    let run = send(&address, &[]);
    assert_eq!(run.code, 3, "{run:?}");
    for expected in [
        "nothing listens at that address".to_owned(),
        format!("the card at http://{address}{CARD} says that the agent is at {url}"),
        "-e <url> --transport jsonrpc".to_owned(),
    ] {
        assert!(run.stderr.contains(&expected), "{expected}: {run:?}");
    }
    assert!(!run.stderr.contains("may have received"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn document_that_is_no_card_is_named_and_the_well_known_path_below_is_tried() {
    let address = serve(|url| {
        let card = card("JSONRPC", url);
        let other = async || Json(json!({"detail": "no card here"}));
        Router::new()
            .route(CARD, get(other))
            .route("/agents/one", get(other))
            .route(&format!("/agents/one{CARD}"), get(async move || Json(card)))
    })
    .await;
    let run = send(&address, &[]);
    assert!(run.stderr.contains("name and supportedInterfaces are missing"), "{run:?}");
    assert!(run.stderr.contains("no card here"), "{run:?}");
    let below = format!("http://{address}/agents/one");
    let run = Run::of(command().args(["card", "get", "-a", &below]));
    assert_eq!((run.code, run.field("Name")), (0, "A"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn self_signed_certificate_is_pinned_by_its_fingerprint() {
    let folder = Folder::new("root");
    folder.issue("server");
    let pem = |name: &str| folder.path(name);
    let flags =
        ["--tls-cert", &pem("server.crt"), "--tls-key", &pem("server.key")].map(str::to_owned);
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let server = Server::start(&flags);
    let url = format!("https://{}", server.address);
    let unknown = send(&url, &[]);
    assert!(unknown.stderr.contains("--pin-sha256"), "{unknown:?}");
    let wrong = send(&url, &["--pin-sha256", &"0".repeat(64)]);
    assert_eq!(wrong.code, 3, "{wrong:?}");
    let (_, rest) = wrong.stderr.split_once("its SHA-256 is ").unwrap();
    let fingerprint = &rest[..64];
    for binding in ["jsonrpc", "http+json", "grpc"] {
        let run = send(&url, &["--pin-sha256", fingerprint, "--transport", binding]);
        assert_eq!((run.code, run.field("State")), (0, "COMPLETED"), "{binding}: {run:?}");
    }
    let both = send(&url, &["--pin-sha256", fingerprint, "--insecure"]);
    assert_eq!(both.code, 2, "{both:?}");
    // A client that calls a TLS port in plaintext gets the text of the server.
    let plaintext = send(&format!("http://{}", server.address), &[]);
    assert!(plaintext.stderr.contains("TLS"), "{plaintext:?}");
}

#[test]
fn card_without_a_usable_interface_says_why() {
    let server = Server::start(&["--protocol", "0.3"]);
    let run = server.run(&["card", "get"]);
    let selected = run.field("Selected interface");
    assert!(selected.starts_with("none: no common protocol version"), "{run:?}");
    assert!(selected.ends_with("try --a2a-version 0.3"), "{run:?}");
}
