//! `a2a serve --webhook-key`: webhooks whose receivers can tell who calls.

use std::{path::Path, sync::Arc};

use crate::common::{Run, Server, command, http};
use a2a_core::v1::{TaskPushNotificationConfig, stream_response::Payload};
use a2a_kit_auth::{
    jose::{Algorithm, RemoteKeys, SigningKey},
    webhook::{JWKS_PATH, ReceiveError, Receiver, WebhookSigner},
};
use a2a_kit_http::{HttpServer, WebhookPolicy, Webhooks};
use a2a_kit_operations::{Delivery, Event, PushError, PushSender as _, Webhook};
use axum::{Router, body::Bytes, extract::State, routing::post};
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc;

type Hook = (Receiver, mpsc::UnboundedSender<Event>);

/// Notes what arrives and is believed.
async fn hook(
    State(hook): State<Arc<Hook>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, ReceiveError> {
    let event = hook.0.receive(&headers, &body).await?;
    hook.1.send(event).unwrap();
    Ok(StatusCode::NO_CONTENT)
}

fn write_key(path: &Path) -> String {
    std::fs::write(path, SigningKey::generate_pem(Algorithm::Es256).unwrap()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn receiver_accepts_only_deliveries_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let key = write_key(&folder.path().join("key.pem"));
    let server = Server::start(&["--webhook-key", &key, "--allow-webhook", "127.0.0.1"]);
    let keys = format!("{}{JWKS_PATH}", server.url());
    assert!(server.lines.contains(&format!("Keys: {keys}")), "{:?}", server.lines);

    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let receiver = Receiver::new(&url)
        .with_token("token")
        .with_keys(server.url(), RemoteKeys::at(&keys).unwrap());
    let (believed, mut events) = mpsc::unbounded_channel();
    let router =
        Router::new().route("/hook", post(hook)).with_state(Arc::new((receiver, believed)));
    tokio::spawn(HttpServer::new(router).serve(listener, std::future::pending()));

    let run = server.run(&["send", "hello", "--push-url", &url, "--push-token", "token"]);
    assert_eq!(run.code, 0, "{run:?}");
    let event = loop {
        let event = events.recv().await.unwrap();
        if event.state().is_some_and(a2a_core::TaskState::is_terminal) {
            break event;
        }
    };

    // Others can send the same event, with the same token, but not the signature.
    let allowed = WebhookPolicy::default().with_allowed("127.0.0.1".parse().unwrap());
    let strangers = Webhooks::new(allowed).unwrap();
    let config = TaskPushNotificationConfig {
        url: url.clone(),
        token: "token".into(),
        ..TaskPushNotificationConfig::default()
    };
    let webhook = Webhook::from(config);
    let task = match event.payload().unwrap() {
        Payload::Task(task) => Arc::new(task.clone()),
        _ => Arc::default(),
    };
    let delivery = Delivery { event, task };
    let refused = strangers.deliver(&webhook, &delivery).await;
    assert!(matches!(refused, Err(PushError::Refused { .. })), "{refused:?}");
    let other_key = SigningKey::generate(Algorithm::Es256).unwrap();
    let forged = strangers.with_signer(WebhookSigner::new(server.url(), other_key));
    assert!(forged.deliver(&webhook, &delivery).await.is_err());
    assert!(events.is_empty(), "nothing more was believed");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_public_half_of_a_key_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let key = write_key(&folder.path().join("key.pem"));
    let server = Server::start(&["--webhook-key", &key]);
    let answer = http("GET", &format!("{}{JWKS_PATH}", server.url()), &[], "").await;
    assert_eq!(answer.status(), StatusCode::OK);
    let document: Value = serde_json::from_slice(answer.body()).unwrap();
    let [published] = &document["keys"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((&published["kty"], &published["crv"]), (&"EC".into(), &"P-256".into()));
    assert!(published["d"].is_null(), "{document}");
    let without = Server::start(&[]);
    let answer = http("GET", &format!("{}{JWKS_PATH}", without.url()), &[], "").await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[test]
fn a_key_that_is_missing_or_none_is_an_error_that_says_how_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pem");
    let none = folder.path().join("none.pem");
    std::fs::write(&none, "no key").unwrap();
    for path in [missing, none] {
        let path = path.to_str().unwrap();
        let run = Run::of(command().args(["serve", "--port", "0", "--webhook-key", path]));
        assert_eq!(run.code, 2, "{run:?}");
        for said in ["--webhook-key", path, "openssl genpkey"] {
            assert!(run.stderr.contains(said), "{said} is missing: {run:?}");
        }
    }
    for (other, excluded) in [("--no-push", "requires webhooks"), ("--proxy=x", "--proxy")] {
        let run = Run::of(command().args(["serve", "--webhook-key", "key.pem", other]));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(excluded), "{run:?}");
    }
}
