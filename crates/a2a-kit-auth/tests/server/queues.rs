//! Verifications that take time: unknown clients of many addresses delay neither known callers nor a first
//! login.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::v1::{
    ClientCredentialsOAuthFlow, OAuth2SecurityScheme, OAuthFlows, o_auth_flows::Flow,
    security_scheme::Scheme,
};
use a2a_kit::operations::Caller;
use a2a_kit_auth::server::{BasicUsers, Guard, Introspection};
use argon2::{Argon2, PasswordHasher as _};
use axum::{Router, extract::Request, routing::post};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::StatusCode;
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    task::{JoinSet, yield_now},
};

use crate::fixture::{card, http_builder, http_scheme, requirement, start};

const UNKNOWN_CLIENTS: u32 = 400;

/// An introspection endpoint that does not answer some tokens until it may.
#[derive(Default)]
struct Endpoint {
    /// How many held tokens it may still answer.
    held: Option<Semaphore>,
    is_known_held: AtomicBool,
    is_revoked: AtomicBool,
    asked: AtomicUsize,
}

impl Endpoint {
    /// Starts it, and returns the URL.
    async fn start(self: &Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint = Arc::clone(self);
        let answer = move |request: Request| async move {
            let body = axum::body::to_bytes(request.into_body(), 1 << 16).await.unwrap();
            let form = String::from_utf8(body.to_vec()).unwrap();
            let is_known = form.contains("token=known&");
            if is_known {
                endpoint.asked.fetch_add(1, Ordering::SeqCst);
            }
            let is_unknown = form.contains("token=unknown");
            if is_unknown || is_known && endpoint.is_known_held.load(Ordering::SeqCst) {
                endpoint.held.as_ref().unwrap().acquire().await.unwrap().forget();
            }
            let active = !is_unknown && !endpoint.is_revoked.load(Ordering::SeqCst);
            json!({"active": active, "client_id": "robot"}).to_string()
        };
        let router = Router::new().route("/introspect", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        format!("http://{address}/introspect")
    }

    fn answer(&self, held: usize) {
        self.held.as_ref().unwrap().add_permits(held);
    }
}

/// Starts an agent with introspection, behind a proxy that names its clients.
async fn with_introspection(endpoint: &Arc<Endpoint>, lifetime: Duration) -> Clients {
    let url = endpoint.start().await;
    let flow = ClientCredentialsOAuthFlow {
        token_url: url.replace("introspect", "token"),
        ..ClientCredentialsOAuthFlow::default()
    };
    let flows = OAuthFlows { flow: Some(Flow::ClientCredentials(flow)) };
    let scheme = OAuth2SecurityScheme { flows: Some(flows), ..OAuth2SecurityScheme::default() };
    let card =
        card(&[("oauth", Scheme::Oauth2SecurityScheme(scheme))], &[requirement(&[("oauth", &[])])]);
    let introspection = Introspection::new("https://issuer", &url, "a", "b").unwrap();
    let guard = Guard::new()
        .with_verifier("oauth", introspection.with_lifetime(lifetime))
        .with_trusted_proxy("127.0.0.1".parse().unwrap());
    Clients::of(start(card, guard).await)
}

/// The clients of an agent, behind one proxy.
#[derive(Clone)]
struct Clients {
    agent: SocketAddr,
    proxy: reqwest::Client,
}

impl Clients {
    fn of(agent: SocketAddr) -> Self {
        // All over one connection.
        Self { agent, proxy: http_builder().http2_prior_knowledge().build().unwrap() }
    }

    /// Sends a message as a client, and returns the status.
    async fn send(&self, client: u32, authorization: &str) -> StatusCode {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message},
        });
        let [_, b, c, d] = client.to_be_bytes();
        let request = self.proxy.post(format!("http://{}/", self.agent));
        let request = request
            .header("authorization", authorization)
            .header("x-forwarded-for", format!("10.{b}.{c}.{d}"))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .body(body.to_string());
        request.send().await.unwrap().status()
    }

    /// Unknown clients of many addresses that repeat their requests, until some of them are turned away.
    async fn unknown_clients(&self, authorization: impl Fn(u32) -> String) -> JoinSet<()> {
        let turned_away = Arc::<AtomicUsize>::default();
        let mut unknown_clients = JoinSet::new();
        for number in 0..UNKNOWN_CLIENTS {
            let (counted, authorization) = (Arc::clone(&turned_away), authorization(number));
            let clients = self.clone();
            unknown_clients.spawn(async move {
                loop {
                    let status = clients.send(number, &authorization).await;
                    if status == StatusCode::TOO_MANY_REQUESTS {
                        counted.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        while turned_away.load(Ordering::SeqCst) < 500 {
            yield_now().await;
        }
        unknown_clients
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_clients_with_invalid_tokens_delay_no_known_token_and_no_first_login() {
    let endpoint = Arc::new(Endpoint { held: Some(Semaphore::new(0)), ..Endpoint::default() });
    let clients = with_introspection(&endpoint, Duration::from_millis(1)).await;
    let known = async || clients.send(u32::MAX, "Bearer known").await;
    assert_eq!(known().await, StatusCode::OK);
    let _unknown_clients =
        clients.unknown_clients(|number| format!("Bearer unknown-{number}")).await;
    for _ in 0..20 {
        assert_eq!(known().await, StatusCode::OK);
    }
    for first in 0..3 {
        let authorization = format!("Bearer new-{first}");
        let clients = clients.clone();
        let login = async move { clients.send(UNKNOWN_CLIENTS + first, &authorization).await };
        let login = tokio::spawn(login);
        while !login.is_finished() {
            endpoint.answer(1);
            yield_now().await;
        }
        assert_eq!(login.await.unwrap(), StatusCode::OK, "login {first}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_clients_with_invalid_passwords_delay_no_known_user_and_no_first_login() {
    let params = argon2::Params::new(19 << 10, 4, 1, None).unwrap();
    let argon = Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    let hash = argon.hash_password_with_salt(b"right", b"somesalt").unwrap().to_string();
    let users = BasicUsers::new()
        .with_user("ann", &hash, Caller::authenticated("ann"))
        .unwrap()
        .with_user("bob", &hash, Caller::authenticated("bob"))
        .unwrap();
    let card = card(&[("basic", http_scheme("basic"))], &[requirement(&[("basic", &[])])]);
    let guard =
        Guard::new().with_verifier("basic", users).with_trusted_proxy("127.0.0.1".parse().unwrap());
    let clients = Clients::of(start(card, guard).await);
    let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
    assert_eq!(clients.send(u32::MAX, &basic("ann:right")).await, StatusCode::OK);
    let _unknown_clients =
        clients.unknown_clients(|number| basic(&format!("ann:guess-{number}"))).await;
    assert_eq!(clients.send(u32::MAX, &basic("ann:right")).await, StatusCode::OK);
    assert_eq!(clients.send(UNKNOWN_CLIENTS, &basic("bob:right")).await, StatusCode::OK);
}

#[tokio::test]
async fn last_verdict_is_used_while_the_next_is_awaited() {
    let endpoint = Arc::new(Endpoint { held: Some(Semaphore::new(0)), ..Endpoint::default() });
    let clients = with_introspection(&endpoint, Duration::from_secs(1)).await;
    let known = async || clients.send(u32::MAX, "Bearer known").await;
    assert_eq!(known().await, StatusCode::OK);
    endpoint.is_known_held.store(true, Ordering::SeqCst);
    while endpoint.asked.load(Ordering::SeqCst) < 2 {
        assert_eq!(known().await, StatusCode::OK, "the last verdict");
    }
    endpoint.is_revoked.store(true, Ordering::SeqCst);
    endpoint.answer(1);
    let last = loop {
        match known().await {
            StatusCode::OK => {}
            last => break last,
        }
    };
    assert_eq!(last, StatusCode::UNAUTHORIZED);
    assert_eq!(endpoint.asked.load(Ordering::SeqCst), 2, "one request for each lifetime");
}
