//! An agent that records what arrives, and answers as a test wants it: that of an attacker, or of the
//! user.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use a2a_kit_http::HttpServer;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use serde_json::{Value, json};

const CARD: &str = "/.well-known/agent-card.json";

/// A server on a free loopback port.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub url: String,
    shared: Shared,
}

type Answer = (u16, Vec<(&'static str, String)>, String);

#[derive(Clone, Debug, Default)]
struct Shared {
    /// All that arrived: request line, headers and body.
    received: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
}

impl Recorder {
    /// Starts an agent whose card names itself, and which takes any token.
    ///
    /// # Panics
    ///
    /// Without a free port.
    pub async fn start() -> Self {
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Shared::default();
        let router = Router::new().fallback(respond).with_state(shared.clone());
        tokio::spawn(HttpServer::new(router).serve(listener, std::future::pending()));
        let recorder = Self { url, shared };
        recorder.serve_card_of(&recorder.url);
        recorder
    }

    /// Its `host:port`.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// A card of this agent, with an interface anywhere.
    pub fn card(&self, interface: &str) -> Value {
        let flow =
            json!({"clientCredentials": {"tokenUrl": format!("{}/token", self.url), "scopes": {}}});
        json!({
            "name": "Recorder", "description": "Records", "version": "1", "capabilities": {},
            "supportedInterfaces":
                [{"url": interface, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}],
            "securitySchemes": {"login": {"oauth2SecurityScheme": {"flows": flow}}},
        })
    }

    /// Serves the card with an interface elsewhere.
    pub fn serve_card_of(&self, interface: &str) {
        self.answer(CARD, 200, &[], &self.card(interface).to_string());
    }

    /// Sets the response to all requests for a path.
    pub fn answer(&self, path: &str, status: u16, headers: &[(&'static str, String)], body: &str) {
        let answer = (status, headers.to_vec(), body.to_owned());
        self.shared.answers.lock().expect("no panic").insert(path.to_owned(), answer);
    }

    /// Serves a catalog, and returns the reference to its only agent.
    pub fn catalog(&self, entry: &Value) -> String {
        let mut entry = entry.clone();
        entry["name"] = "w".into();
        self.answer("/agents.json", 200, &[], &json!([entry]).to_string());
        format!("catalog+{}/agents.json#w", self.url)
    }

    /// Redirects a path to the same one of another server.
    pub fn redirect(&self, path: &str, to: &Self) {
        self.answer(path, 307, &[("location", format!("{}{path}", to.url))], "");
    }

    /// Takes all that has arrived.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.received.lock().expect("no panic"))
    }
}

async fn respond(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let text = String::from_utf8_lossy(&body);
    shared.received.lock().expect("no panic").push(format!("{method} {uri} {headers:?} {text}"));
    let answer = shared.answers.lock().expect("no panic").get(uri.path()).cloned();
    if let Some((status, headers, body)) = answer {
        let mut response = (StatusCode::from_u16(status).unwrap_or_default(), body).into_response();
        response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            response.headers_mut().insert(name, value.parse().expect("a header"));
        }
        return response;
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hello"}]});
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"message": message}});
    ([("content-type", "application/json")], answer.to_string()).into_response()
}
