//! Whose certificates `a2a serve` believes where it calls somebody.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::common::{Run, Server, command, http};
use a2a_kit_auth::jose::{Algorithm, JwkSet, SigningKey};
use a2a_kit_http::tls::{Pem, TlsSettings};
use a2a_test_certificates::Folder;
use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde_json::json;

/// What a company has beside its agents, over TLS: an issuer, a receiver of webhooks, a collector
/// of spans.
#[derive(Clone)]
struct Company {
    url: String,
    key: Arc<SigningKey>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Company {
    async fn start(folder: &Folder) -> Self {
        folder.issue("company");
        let pem = |name: &str| Pem::file(folder.path(name));
        let tls = TlsSettings::new(pem("company.crt"), pem("company.key")).load().unwrap();
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let company = Self {
            url: format!("https://{}", listener.local_addr().unwrap()),
            key: Arc::new(SigningKey::generate(Algorithm::Es256).unwrap()),
            heard: Arc::default(),
        };
        let router = Router::new().fallback(answer).with_state(company.clone());
        let server = a2a_kit_http::HttpServer::new(router).with_tls(tls);
        tokio::spawn(server.serve(listener, std::future::pending()));
        company
    }

    /// The places where tokens are known from.
    fn settings(&self) -> String {
        let url = &self.url;
        format!(
            r#"
[[auth.oidc]]
url = "{url}/.well-known/openid-configuration"
audiences = ["agent"]

[[auth.introspection]]
issuer = "{url}"
url = "{url}/introspect"
client_id = "agent"
client_secret = "secret"

[webhooks]
allow = ["127.0.0.1"]

[telemetry]
otlp_endpoint = "{url}"
"#
        )
    }

    fn token(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({ "iss": self.url, "aud": "agent", "sub": "ann", "exp": now + 300 });
        self.key.token(claims.to_string().as_bytes()).unwrap()
    }

    fn has_heard(&self, path: &str) -> bool {
        self.heard.lock().unwrap().iter().any(|heard| heard == path)
    }

    async fn hears(&self, path: &str) {
        let heard = async {
            while !self.has_heard(path) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let heard = tokio::time::timeout(Duration::from_secs(30), heard).await;
        assert!(heard.is_ok(), "{path} was not called");
    }
}

async fn answer(State(company): State<Company>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    company.heard.lock().unwrap().push(path.clone());
    let url = &company.url;
    match path.as_str() {
        "/.well-known/openid-configuration" => {
            json!({ "issuer": url, "jwks_uri": format!("{url}/jwks") }).to_string().into_response()
        }
        "/jwks" => {
            let keys: JwkSet = [company.key.public().clone()].into_iter().collect();
            keys.json().into_response()
        }
        "/introspect" => json!({ "active": true, "sub": "robot" }).to_string().into_response(),
        "/hook" | "/v1/traces" => StatusCode::OK.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn send(server: &Server, token: &str) -> Run {
    let base = server.url();
    Run::of(command().args(["send", "hello", "-a", &base, "--bearer", token]))
}

// covers: R-308
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_of_ones_own_is_believed_by_all_that_a_server_calls() {
    let folder = Folder::new("root");
    let company = Company::start(&folder).await;
    let path = folder.path("a2a.toml");
    let root = format!("[tls]\nca_file = {:?}\n", folder.path("root.pem"));
    fs::write(&path, format!("{root}{}", company.settings())).unwrap();
    let server = Server::start(&["--settings", &path]);

    for token in [company.token().as_str(), "opaque"] {
        let sent = send(&server, token);
        assert_eq!(sent.field("State"), "COMPLETED", "{sent:?}");
    }
    assert!(company.has_heard("/jwks") && company.has_heard("/introspect"));

    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": {
            "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "hello" }] },
            "configuration": {
                "taskPushNotificationConfig": { "url": format!("{}/hook", company.url) },
            },
        },
    });
    let headers = [
        ("content-type", "application/json"),
        ("a2a-version", "1.0"),
        ("authorization", "Bearer opaque"),
    ];
    let answer = http("POST", &server.url(), &headers, &body.to_string()).await;
    assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
    company.hears("/hook").await;
    company.hears("/v1/traces").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_unknown_authorities_are_rejected() {
    let folder = Folder::new("root");
    let company = Company::start(&folder).await;
    let path = folder.path("a2a.toml");
    fs::write(&path, company.settings()).unwrap();
    let server = Server::start(&["--settings", &path]);
    for token in [company.token().as_str(), "opaque"] {
        let sent = send(&server, token);
        assert_eq!(sent.code, 3, "{sent:?}");
        assert!(sent.stderr.contains("credential verification unavailable"), "{sent:?}");
    }
    assert!(company.heard.lock().unwrap().is_empty(), "no handshake was ended");

    // The same by a variable, for all that is not in the file.
    let root = folder.path("root.pem");
    let server = Server::start_with(&["--settings", &path], &[("A2ACLI_CA_CERT", &root)]);
    assert_eq!(send(&server, "opaque").field("State"), "COMPLETED");
}

#[test]
fn an_authority_that_is_none_is_named_where_it_was_set() {
    let folder = Folder::new("root");
    let path = folder.path("a2a.toml");
    fs::write(&path, "[tls]\nca_file = \"missing.pem\"\n").unwrap();
    let run = Run::of(command().args(["serve", "--settings", &path]));
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains(&format!("{path}:2: tls.ca_file")), "{run:?}");
    assert!(run.stderr.contains("missing.pem"), "{run:?}");
}
