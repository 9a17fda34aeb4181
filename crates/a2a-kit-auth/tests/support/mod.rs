//! An authorization server on a free loopback port, and a browser.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard},
};

use a2a_kit_http::{HttpServer, tls::Tls};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode, Uri, header::LOCATION};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// The parameters of a form or a query.
pub(crate) type Form = HashMap<String, String>;

/// An authorization server with state that tests inspect and set.
#[derive(Clone)]
pub(crate) struct AuthorizationServer {
    pub(crate) url: String,
    state: Arc<Mutex<Records>>,
}

#[derive(Default)]
pub(crate) struct Records {
    /// All token requests, including the header `authorization`, if present.
    pub(crate) asked: Vec<Form>,
    /// Queued responses to token requests.
    pub(crate) answers: Vec<(StatusCode, Value)>,
    /// The lifetime of tokens, in seconds.
    pub(crate) expires_in: Option<u64>,
    /// The valid tokens.
    pub(crate) active: HashSet<String>,
    /// Whether the user has authorized on the other device.
    pub(crate) is_approved: bool,
    /// The issuer in the metadata.
    pub(crate) issuer: Option<String>,
    /// Whether the metadata announces `iss` in redirects.
    pub(crate) has_issuer_parameter: bool,
    /// A suffix of redirects.
    pub(crate) redirect_extra: String,
    refresh: HashSet<String>,
    codes: HashMap<String, Form>,
    issued: usize,
}

impl AuthorizationServer {
    pub(crate) async fn start() -> Self {
        Self::start_at("http", |server| server).await
    }

    pub(crate) async fn start_with(tls: Tls) -> Self {
        Self::start_at("https", |server| server.with_tls(tls)).await
    }

    async fn start_at(scheme: &str, set_up: impl FnOnce(HttpServer) -> HttpServer) -> Self {
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(Records { expires_in: Some(600), ..Records::default() }));
        let server = Self { url, state };
        let router = Router::new()
            .route("/token", post(token))
            .route("/introspect", post(introspect))
            .route("/authorize", get(authorize))
            .route("/device", post(device))
            .route("/.well-known/openid-configuration", get(metadata))
            .with_state(server.clone());
        let running = set_up(HttpServer::new(router)).serve(listener, std::future::pending());
        tokio::spawn(running);
        server
    }

    pub(crate) fn records(&self) -> MutexGuard<'_, Records> {
        self.state.lock().unwrap()
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) fn grants(&self) -> Vec<String> {
        self.records().asked.iter().map(|form| form["grant_type"].clone()).collect()
    }
}

fn parsed(text: &[u8]) -> Form {
    form_urlencoded::parse(text).into_owned().collect()
}

fn json(status: StatusCode, value: &Value) -> Response {
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

fn refused(error: &str) -> Response {
    json(StatusCode::BAD_REQUEST, &json!({"error": error}))
}

async fn token(
    State(server): State<AuthorizationServer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut form = parsed(&body);
    if let Some(value) = headers.get("authorization") {
        form.insert("authorization".to_owned(), value.to_str().unwrap().to_owned());
    }
    let mut records = server.records();
    records.asked.push(form.clone());
    if !records.answers.is_empty() {
        let (status, answer) = records.answers.remove(0);
        return json(status, &answer);
    }
    let has_refresh = match form["grant_type"].as_str() {
        "client_credentials" => false,
        "authorization_code" => {
            let Some(request) = records.codes.remove(&form["code"]) else {
                return refused("invalid_grant");
            };
            let digest =
                ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
            let is_proved = request["code_challenge"] == BASE64_URL_SAFE_NO_PAD.encode(digest);
            if !is_proved || request["redirect_uri"] != form["redirect_uri"] {
                return refused("invalid_grant");
            }
            true
        }
        "refresh_token" => {
            if !records.refresh.remove(&form["refresh_token"]) {
                return refused("invalid_grant");
            }
            true
        }
        "urn:ietf:params:oauth:grant-type:device_code" => {
            if !records.is_approved {
                return refused("authorization_pending");
            }
            true
        }
        "urn:ietf:params:oauth:grant-type:token-exchange" => false,
        _ => return refused("unsupported_grant_type"),
    };
    records.issued += 1;
    let number = records.issued;
    let access_token = format!("access-{number}");
    records.active.insert(access_token.clone());
    let mut answer = json!({"access_token": access_token, "token_type": "bearer"});
    if let Some(seconds) = records.expires_in {
        answer["expires_in"] = seconds.into();
    }
    if has_refresh {
        let refresh = format!("refresh-{number}");
        records.refresh.insert(refresh.clone());
        answer["refresh_token"] = refresh.into();
    }
    json(StatusCode::OK, &answer)
}

async fn introspect(State(server): State<AuthorizationServer>, body: Bytes) -> Response {
    let active = server.records().active.contains(&parsed(&body)["token"]);
    let answer =
        if active { json!({"active": true, "client_id": "app"}) } else { json!({"active": false}) };
    json(StatusCode::OK, &answer)
}

/// The user authorizes immediately.
async fn authorize(State(server): State<AuthorizationServer>, uri: Uri) -> Response {
    let form = parsed(uri.query().unwrap_or_default().as_bytes());
    let mut records = server.records();
    let code = format!("code-{}", records.codes.len());
    let location = format!(
        "{}?code={code}&state={}{}",
        form["redirect_uri"], form["state"], records.redirect_extra
    );
    records.codes.insert(code, form);
    (StatusCode::FOUND, [(LOCATION, location)]).into_response()
}

async fn device(State(server): State<AuthorizationServer>, body: Bytes) -> Response {
    assert_eq!(parsed(&body)["client_id"], "app");
    let answer = json!({
        "device_code": "device-code", "user_code": "ABCD", "expires_in": 600, "interval": 0,
        "verification_uri": server.at("/verify"),
        "verification_uri_complete": server.at("/verify?code=ABCD"),
    });
    json(StatusCode::OK, &answer)
}

async fn metadata(State(server): State<AuthorizationServer>) -> Response {
    let records = server.records();
    let issuer = records.issuer.clone().unwrap_or_else(|| server.url.clone());
    let answer = json!({
        "issuer": issuer,
        "authorization_response_iss_parameter_supported": records.has_issuer_parameter,
        "token_endpoint": server.at("/token"),
        "authorization_endpoint": server.at("/authorize"),
        "device_authorization_endpoint": server.at("/device"),
    });
    json(StatusCode::OK, &answer)
}

/// Makes a request, and returns the status and the redirect.
pub(crate) async fn open(url: &str) -> (u16, Option<String>) {
    let url = url::Url::parse(url).unwrap();
    let address = (url.host_str().unwrap(), url.port().unwrap());
    let mut connection = TcpStream::connect(address).await.unwrap();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let request = format!("GET {target} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    (status, location.map(str::to_owned))
}

/// Follows redirects like a browser.
pub(crate) async fn browse(url: &str) -> u16 {
    let mut url = url.to_owned();
    loop {
        match open(&url).await {
            (_, Some(location)) => url = location,
            (status, None) => return status,
        }
    }
}
