//! An authorization server on a free loopback port: device codes, authorization codes with PKCE,
//! client credentials, rotated refresh tokens and OpenID Connect metadata. Its tokens are JWTs.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::{SystemTime, UNIX_EPOCH},
};

use a2a_kit_auth::jose::{Algorithm, JwkSet, SigningKey};
use a2a_kit_http::HttpServer;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use http::{HeaderMap, StatusCode, Uri, header::LOCATION};
use serde_json::{Value, json};
use url::form_urlencoded;

/// The parameters of a form or a query.
pub type Form = HashMap<String, String>;

/// The audience of all tokens.
pub const AUDIENCE: &str = "agent";
/// The client that has a secret.
pub const CONFIDENTIAL: &str = "machine";
pub const SECRET: &str = "s3cret of the machine";

/// An authorization server with state that tests inspect and set.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    pub url: String,
    key: Arc<SigningKey>,
    state: Arc<Mutex<Records>>,
    _runtime: Arc<tokio::runtime::Runtime>,
}

#[derive(Debug, Default)]
pub struct Records {
    /// All token requests, including the id of the client.
    pub requests: Vec<Form>,
    /// Errors in response to the next token requests.
    pub errors: VecDeque<&'static str>,
    /// Whether the user has authorized the device.
    pub is_approved: bool,
    /// The lifetime of tokens that the next responses name, in seconds.
    pub expires_in: i64,
    /// The lifetime that the next tokens have, if it is another one.
    pub valid_for: Option<i64>,
    /// All access and refresh tokens that were issued.
    pub issued: Vec<String>,
    refresh: HashSet<String>,
    codes: HashMap<String, Form>,
}

impl AuthorizationServer {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(a2a_kit_http::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let key = SigningKey::from_pem(&SigningKey::generate_pem(Algorithm::Es256).unwrap());
        let server = Self {
            url,
            key: Arc::new(key.unwrap()),
            state: Arc::new(Mutex::new(Records { expires_in: 600, ..Records::default() })),
            _runtime: Arc::new(runtime),
        };
        // A weak reference: the runtime must not own itself.
        let shared = Shared {
            url: server.url.clone(),
            key: server.key.clone(),
            state: server.state.clone(),
        };
        let router = Router::new()
            .route("/token", post(token))
            .route("/authorize", get(authorize))
            .route("/device", post(device))
            .route("/jwks", get(keys))
            .route("/.well-known/openid-configuration", get(metadata))
            .with_state(shared);
        server._runtime.spawn(HttpServer::new(router).serve(listener, std::future::pending()));
        server
    }

    pub fn records(&self) -> MutexGuard<'_, Records> {
        self.state.lock().unwrap()
    }

    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// The grant types of all token requests.
    pub fn grants(&self) -> Vec<String> {
        self.records().requests.iter().map(|form| form["grant_type"].clone()).collect()
    }

    /// A security scheme with one flow.
    pub fn scheme(&self, flow: &str) -> Value {
        let flow = match flow {
            "device" => json!({ "deviceCode": {
                "deviceAuthorizationUrl": self.at("/device"), "tokenUrl": self.at("/token"),
                "scopes": { "read": "reads" },
            }}),
            "client-credentials" => json!({ "clientCredentials": {
                "tokenUrl": self.at("/token"), "scopes": { "read": "reads" },
            }}),
            "auth-code" => json!({ "authorizationCode": {
                "authorizationUrl": self.at("/authorize"), "tokenUrl": self.at("/token"),
                "scopes": { "read": "reads" }, "pkceRequired": true,
            }}),
            "open-id" => {
                let url = self.at("/.well-known/openid-configuration");
                return json!({ "openIdConnectSecurityScheme": { "openIdConnectUrl": url } });
            }
            other => panic!("unknown flow {other}"),
        };
        json!({ "oauth2SecurityScheme": { "flows": flow } })
    }
}

#[derive(Clone)]
struct Shared {
    url: String,
    key: Arc<SigningKey>,
    state: Arc<Mutex<Records>>,
}

impl Shared {
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn access_token(&self, number: usize, scope: &str, valid_for: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": self.url, "aud": AUDIENCE, "sub": "ann", "jti": number.to_string(),
            "exp": i64::try_from(now).unwrap() + valid_for, "scope": scope,
        });
        self.key.token(claims.to_string().as_bytes()).unwrap()
    }
}

fn parsed(text: &[u8]) -> Form {
    form_urlencoded::parse(text).into_owned().collect()
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

fn refused(error: &str) -> Response {
    let status =
        if error == "invalid_client" { StatusCode::UNAUTHORIZED } else { StatusCode::BAD_REQUEST };
    json_response(status, &json!({ "error": error, "error_description": "no such luck" }))
}

/// The client of a request: its id and whether it proved its secret.
fn client(form: &Form, headers: &HeaderMap) -> Option<(String, bool)> {
    let Some(value) = headers.get("authorization") else {
        return Some((form.get("client_id")?.clone(), false));
    };
    let pair = BASE64_STANDARD.decode(value.to_str().ok()?.strip_prefix("Basic ")?).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (id, secret) = pair.split_once(':')?;
    let secret = parsed(format!("secret={secret}").as_bytes()).remove("secret")?;
    (secret == SECRET).then(|| (id.to_owned(), true))
}

async fn token(State(server): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let mut form = parsed(&body);
    let Some((client, is_confidential)) = client(&form, &headers) else {
        return refused("invalid_client");
    };
    if is_confidential != (client == CONFIDENTIAL) {
        return refused("invalid_client");
    }
    form.insert("client".to_owned(), client);
    let mut records = server.state.lock().unwrap();
    records.requests.push(form.clone());
    if let Some(error) = records.errors.pop_front() {
        return refused(error);
    }
    let has_refresh = match form["grant_type"].as_str() {
        "client_credentials" if is_confidential => false,
        "client_credentials" => return refused("unauthorized_client"),
        "authorization_code" => {
            let Some(request) = records.codes.remove(&form["code"]) else {
                return refused("invalid_grant");
            };
            let verifier = form["code_verifier"].as_bytes();
            let digest = ring::digest::digest(&ring::digest::SHA256, verifier);
            let is_proved = request["code_challenge"] == BASE64_URL_SAFE_NO_PAD.encode(digest);
            if !is_proved || request["redirect_uri"] != form["redirect_uri"] {
                return refused("invalid_grant");
            }
            true
        }
        "refresh_token" => {
            if !records.refresh.remove(&form["refresh_token"]) {
                // A token that is used twice may be stolen: none is valid any more.
                records.refresh.clear();
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
        _ => return refused("unsupported_grant_type"),
    };
    let number = records.issued.len();
    let scope = form.get("scope").map_or("read", String::as_str);
    let valid_for = records.valid_for.unwrap_or(records.expires_in);
    let access_token = server.access_token(number, scope, valid_for);
    records.issued.push(access_token.clone());
    let mut answer = json!({
        "access_token": access_token, "token_type": "Bearer", "expires_in": records.expires_in,
    });
    if has_refresh {
        let refresh = format!("refresh-token-{number}");
        records.refresh.insert(refresh.clone());
        records.issued.push(refresh.clone());
        answer["refresh_token"] = refresh.into();
    }
    json_response(StatusCode::OK, &answer)
}

/// The user authorizes immediately.
async fn authorize(State(server): State<Shared>, uri: Uri) -> Response {
    let form = parsed(uri.query().unwrap_or_default().as_bytes());
    let mut records = server.state.lock().unwrap();
    let code = format!("code-{}", records.codes.len());
    let location = match records.errors.pop_front() {
        Some(error) => format!("{}?error={error}&state={}", form["redirect_uri"], form["state"]),
        None => format!("{}?code={code}&state={}", form["redirect_uri"], form["state"]),
    };
    records.codes.insert(code, form);
    (StatusCode::FOUND, [(LOCATION, location)]).into_response()
}

async fn device(State(server): State<Shared>) -> Response {
    let answer = json!({
        "device_code": "device-code", "user_code": "ABCD-EFGH", "expires_in": 600, "interval": 0,
        "verification_uri": server.at("/verify"),
        "verification_uri_complete": server.at("/verify?code=ABCD-EFGH"),
    });
    json_response(StatusCode::OK, &answer)
}

async fn keys(State(server): State<Shared>) -> Response {
    let keys: JwkSet = [server.key.public().clone()].into_iter().collect();
    ([("content-type", "application/json")], keys.json()).into_response()
}

async fn metadata(State(server): State<Shared>) -> Response {
    let answer = json!({
        "issuer": server.url,
        "jwks_uri": server.at("/jwks"),
        "token_endpoint": server.at("/token"),
        "authorization_endpoint": server.at("/authorize"),
        "device_authorization_endpoint": server.at("/device"),
    });
    json_response(StatusCode::OK, &answer)
}
