//! An agent's webhook sender, its keys, and a receiver, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::sync::Arc;

use a2a_core::v1::{
    AuthenticationInfo, Message, StreamResponse, TaskPushNotificationConfig,
    stream_response::Payload,
};
use a2a_kit_auth::{
    jose::{Algorithm, JwkSet, RemoteKeys, SigningKey},
    webhook::{JWKS_PATH, ReceiveError, Receiver, WebhookSigner},
};
use a2a_kit_http::{HttpServer, WebhookPolicy, Webhooks};
use a2a_kit_operations::{Delivery, Event, PushError, PushSender as _, Webhook};
use axum::{Router, body::Bytes, extract::State, routing::post};
use http::{HeaderMap, StatusCode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

async fn hook(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, ReceiveError> {
    receiver.receive(&headers, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn serve(listener: TcpListener, router: Router) {
    tokio::spawn(HttpServer::new(router).serve(listener, std::future::pending()));
}

async fn listen() -> (TcpListener, String) {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    (listener, origin)
}

/// A receiver of signed deliveries, and its URL.
async fn receiver(agent: &str) -> String {
    let (listener, origin) = listen().await;
    let url = format!("{origin}/hook");
    let receiver = Receiver::new(&url)
        .with_token("token")
        .with_keys(agent, RemoteKeys::at(format!("{agent}{JWKS_PATH}")).unwrap());
    serve(listener, Router::new().route("/hook", post(hook)).with_state(Arc::new(receiver)));
    url
}

fn webhooks() -> Webhooks {
    Webhooks::new(WebhookPolicy::default().with_allowed("127.0.0.1".parse().unwrap())).unwrap()
}

fn webhook(url: &str) -> Webhook {
    let config = TaskPushNotificationConfig {
        url: url.into(),
        token: "token".into(),
        ..TaskPushNotificationConfig::default()
    };
    config.into()
}

fn delivery() -> Delivery {
    let payload = Some(Payload::Message(Message::user("hello")));
    Delivery { event: Event::new(None, StreamResponse { payload }), task: Arc::default() }
}

//
#[tokio::test]
async fn receiver_accepts_only_deliveries_of_the_agent() {
    let (listener, agent) = listen().await;
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let signer = WebhookSigner::new(&agent, key.clone());
    serve(listener, signer.router());
    let url = receiver(&agent).await;
    webhooks().with_signer(signer.clone()).deliver(&webhook(&url), &delivery()).await.unwrap();

    let other_signer =
        || WebhookSigner::new(&agent, SigningKey::generate(Algorithm::Es256).unwrap());
    let mut other_token = webhook(&url);
    other_token.config.token = "other".into();
    for (sender, webhook) in [
        (webhooks(), webhook(&url)),
        (webhooks().with_signer(signer.clone()), other_token),
        (webhooks().with_signer(WebhookSigner::new("https://other.example", key)), webhook(&url)),
        // The keys are fetched again, and do not include this one.
        (webhooks().with_signer(other_signer()), webhook(&url)),
    ] {
        let result = sender.deliver(&webhook, &delivery()).await;
        assert!(matches!(result, Err(PushError::Refused { .. })), "{result:?}");
    }
    // The next unknown key may be newer than the cached keys: the agent has to retry.
    let result = webhooks().with_signer(other_signer()).deliver(&webhook(&url), &delivery()).await;
    assert!(matches!(result, Err(PushError::Retry { .. })), "{result:?}");

    // With credentials, the signature has a separate header.
    let mut with_credentials = webhook(&url);
    let authentication = AuthenticationInfo { scheme: "Basic".into(), credentials: "dTpw".into() };
    with_credentials.config.authentication = Some(authentication);
    webhooks().with_signer(signer).deliver(&with_credentials, &delivery()).await.unwrap();
}

//
#[tokio::test]
async fn published_keys_have_no_private_members() {
    let (listener, agent) = listen().await;
    let algorithms = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256];
    let keys = algorithms.map(|algorithm| match algorithm {
        Algorithm::Rs256 => {
            SigningKey::from_pem(include_str!("../src/jose/rfc7515_a2.pem")).unwrap()
        }
        _ => SigningKey::generate(algorithm).unwrap(),
    });
    let [es256, ed_dsa, rs256] = &keys;
    let signer = WebhookSigner::new(&agent, es256.clone())
        .with_published(ed_dsa.public().clone())
        .with_published(rs256.public().clone());
    serve(listener, signer.router());
    let mut socket = TcpStream::connect(agent.trim_start_matches("http://")).await.unwrap();
    let request = format!("GET {JWKS_PATH} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/jwk-set+json"), "{head}");
    let set: JwkSet = serde_json::from_str(body).unwrap();
    assert_eq!(&set, signer.jwks());
    assert_eq!(set.keys().len(), 3);
    for private in ["\"d\"", "\"p\"", "\"q\"", "\"dp\"", "\"k\""] {
        assert!(!text.contains(private), "{private}");
    }
}
