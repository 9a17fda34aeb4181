//! Card discovery over HTTP: locations, caching, malformed cards.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use std::{
    io::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a_core::{AgentCard, card};
use a2a_kit_client::{CardCache, Client, ClientSettings, Discovery, DiscoveryError, Transport};
use axum::{Router, response::IntoResponse as _, routing::get};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use support::{Counter, serve, serve_engine, unused_address};

const PATH: &str = "/.well-known/agent-card.json";

/// A server with a fixed response to card requests, which records them.
#[derive(Clone)]
struct CardServer {
    status: StatusCode,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
    requests: Arc<Mutex<Vec<HeaderMap>>>,
}

impl CardServer {
    fn new(headers: &[(&'static str, &'static str)]) -> Self {
        let card = AgentCard::new("A", "b").with_interface(card::JSONRPC, "http://a.example");
        Self {
            status: StatusCode::OK,
            headers: headers.to_vec(),
            body: serde_json::to_string(&card).unwrap(),
            requests: Arc::default(),
        }
    }

    fn failing(status: StatusCode, body: &str) -> Self {
        Self { status, body: body.into(), ..Self::new(&[]) }
    }

    /// Responds with 304 to conditional requests.
    fn respond(self, headers: HeaderMap) -> axum::response::Response {
        let is_conditional = headers.get("if-none-match").is_some();
        self.requests.lock().unwrap().push(headers);
        let fields = self
            .headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let fields = HeaderMap::from_iter(fields);
        if is_conditional {
            return (StatusCode::NOT_MODIFIED, fields).into_response();
        }
        (self.status, fields, self.body).into_response()
    }

    async fn start(&self) -> String {
        let server = self.clone();
        let router =
            Router::new().route(PATH, get(async move |headers: HeaderMap| server.respond(headers)));
        serve(router).await.to_string()
    }

    fn requests(&self) -> Vec<HeaderMap> {
        self.requests.lock().unwrap().clone()
    }
}

fn discovery() -> Discovery {
    Discovery::new(ClientSettings::default()).unwrap()
}

// covers: R-354
#[tokio::test]
async fn fresh_card_is_served_from_cache() {
    let server = CardServer::new(&[("cache-control", "max-age=60")]);
    let address = server.start().await;
    let discovery = discovery();
    for _ in 0..3 {
        assert_eq!(discovery.discover(&address).await.unwrap().name, "A");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0]["a2a-version"], "1.0");
}

// covers: R-359
#[tokio::test]
async fn stale_card_is_revalidated_by_etag() {
    let server = CardServer::new(&[
        ("cache-control", "no-cache"),
        ("etag", "\"7\""),
        ("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ]);
    let address = server.start().await;
    let discovery = discovery();
    for _ in 0..3 {
        assert_eq!(discovery.discover(&address).await.unwrap().name, "A");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(!requests[0].contains_key("if-none-match"));
    for request in &requests[1..] {
        assert_eq!(request["if-none-match"], "\"7\"");
        assert_eq!(request["if-modified-since"], "Tue, 14 Nov 2023 22:13:20 GMT");
    }
}

#[tokio::test]
async fn no_store_response_is_not_cached() {
    let server = CardServer::new(&[("cache-control", "no-store"), ("etag", "\"7\"")]);
    let address = server.start().await;
    let discovery = discovery();
    for _ in 0..2 {
        discovery.discover(&address).await.unwrap();
    }
    assert!(server.requests().iter().all(|request| !request.contains_key("if-none-match")));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn shared_cache_excludes_authenticated_responses() {
    let server = CardServer::new(&[("cache-control", "max-age=60")]);
    let address = server.start().await;
    let cache = CardCache::new();
    for _ in 0..2 {
        Client::builder().card_cache(cache.clone()).connect(&address).await.unwrap();
    }
    assert_eq!(server.requests().len(), 1);
    let header = (http::header::AUTHORIZATION, HeaderValue::from_static("Bearer x"));
    let authenticated = Client::builder().card_cache(cache).card_header(header.0, header.1);
    authenticated.connect(&address).await.unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn agent_credentials_are_not_sent_with_the_card_request() {
    let server = CardServer::new(&[]);
    let address = server.start().await;
    let agent = "http://a.example".parse().unwrap();
    Client::builder().bearer("secret").trusted_origin(agent).connect(&address).await.unwrap();
    assert!(!server.requests()[0].contains_key("authorization"));
}

#[tokio::test]
async fn each_discovery_failure_has_its_own_error() {
    let error_from = |server: CardServer| async move {
        discovery().discover(&server.start().await).await.unwrap_err()
    };
    let error = error_from(CardServer::failing(StatusCode::NOT_FOUND, "")).await;
    assert!(matches!(error, DiscoveryError::NotFound(_)), "{error}");
    let mut denied = CardServer::failing(StatusCode::UNAUTHORIZED, "");
    denied.headers = vec![("www-authenticate", "Bearer realm=\"a\"")];
    let error = error_from(denied).await;
    let DiscoveryError::Denied { status: 401, challenge: Some(challenge), .. } = error else {
        panic!("{error}")
    };
    assert_eq!(challenge, "Bearer realm=\"a\"");
    let error = error_from(CardServer::failing(StatusCode::BAD_GATEWAY, "")).await;
    assert!(matches!(error, DiscoveryError::Status { status: 502, .. }), "{error}");
    let error = error_from(CardServer::failing(StatusCode::OK, "<html>")).await;
    assert!(matches!(error, DiscoveryError::NotACard(_)), "{error}");
    let error = error_from(CardServer::failing(StatusCode::OK, "{\"name\": \"a\"}")).await;
    let DiscoveryError::Invalid(violations) = error else { panic!("{error}") };
    assert!(violations.len() > 2, "{violations:?}");
    let error = error_from(CardServer::failing(StatusCode::OK, &" ".repeat(2 << 20))).await;
    assert!(matches!(error, DiscoveryError::TooLarge { limit: 0x10_0000 }), "{error}");
    let error = discovery().discover(&unused_address().await.to_string()).await.unwrap_err();
    assert!(matches!(error, DiscoveryError::Unreachable { .. }), "{error}");
    let error = discovery().discover("./no-such-card.json").await.unwrap_err();
    assert!(matches!(error, DiscoveryError::File { .. }), "{error}");
}

#[tokio::test]
async fn card_at_legacy_path_is_found() {
    let server = CardServer {
        body: r#"{"name": "a", "description": "b", "version": "1", "capabilities": {},
            "url": "http://127.0.0.1:1", "defaultInputModes": [], "defaultOutputModes": [],
            "skills": []}"#
            .into(),
        ..CardServer::new(&[])
    };
    let recorder = server.clone();
    let legacy = get(async move |headers: HeaderMap| recorder.respond(headers));
    let address = serve(Router::new().route("/.well-known/agent.json", legacy)).await;
    let document = discovery().fetch(&address.to_string().parse().unwrap()).await.unwrap();
    assert!(document.is_at_legacy_path);
    assert_eq!(document.card.supported_interfaces[0].url, "http://127.0.0.1:1");
    // A complete URL has no fallback.
    let card_url = format!("http://{address}/agent-card.json");
    let error = discovery().discover(&card_url).await.unwrap_err();
    assert!(matches!(error, DiscoveryError::NotFound(_)), "{error}");
    assert_eq!(server.requests().len(), 1);
    let error = discovery().discover(&serve(Router::new()).await.to_string()).await.unwrap_err();
    let DiscoveryError::NotFound(url) = error else { panic!("{error}") };
    assert_eq!(url.path(), PATH);
}

// covers: R-339
#[tokio::test]
async fn card_is_read_from_a_file() {
    let counter = Counter::new(1);
    counter.permit(1);
    let address = serve_engine(&counter.engine()).await;
    let card = support::card(Transport::Rest, address);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&serde_json::to_vec(&card).unwrap()).unwrap();
    let path = file.path().to_str().unwrap();
    for reference in [path.to_owned(), format!("file://{path}")] {
        let client = Client::connect(&reference).await.unwrap();
        assert_eq!(client.card().name, "Counter");
    }
    let client = Client::connect(path).await.unwrap();
    assert_eq!(client.send_text("count").await.unwrap(), "1 ");
}

#[tokio::test]
async fn unresponsive_server_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let settings = ClientSettings::default().with_request_timeout(Duration::from_millis(50));
    let error = Discovery::new(settings).unwrap().discover(&address).await.unwrap_err();
    assert!(matches!(error, DiscoveryError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn card_of_an_agent_under_a_path_takes_one_request_and_of_a_document_too() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = requests.clone();
    let card = AgentCard::new("A", "b").with_interface(card::JSONRPC, "http://a.example");
    let card = serde_json::to_string(&card).unwrap();
    let found = ["/expense/.well-known/agent-card.json", "/cards/v1.txt", "/cards/plain"];
    let router = Router::new().fallback(async move |uri: http::Uri| {
        seen.lock().unwrap().push(uri.path().to_owned());
        let status =
            if found.contains(&uri.path()) { StatusCode::OK } else { StatusCode::NOT_FOUND };
        (status, card)
    });
    let address = serve(router).await;
    for (path, first) in [
        ("/expense", "/expense/.well-known/agent-card.json"),
        ("/expense/", "/expense/.well-known/agent-card.json"),
        ("/cards/v1.txt", "/cards/v1.txt"),
    ] {
        discovery().discover(&format!("http://{address}{path}")).await.unwrap();
        assert_eq!(std::mem::take(&mut *requests.lock().unwrap()), [first], "{path}");
    }
    discovery().discover(&format!("http://{address}/cards/plain")).await.unwrap();
    let tried = std::mem::take(&mut *requests.lock().unwrap());
    assert_eq!(tried.last().unwrap(), "/cards/plain");
    let url = format!("http://{address}/none");
    match discovery().discover(&url).await.unwrap_err() {
        DiscoveryError::NotFound(missing) => assert_eq!(missing.to_string(), url),
        error => panic!("{error}"),
    }
}
