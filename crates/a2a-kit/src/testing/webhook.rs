//! A receiver of webhooks on a free port.

use std::{fmt, net::Ipv4Addr, sync::Arc};

use a2a_core::{fresh_id, v1::TaskPushNotificationConfig};
use a2a_kit_auth::webhook::Receiver;
use a2a_kit_http::{WebhookPolicy, Webhooks};
use a2a_kit_operations::Event;
use axum::{Router, body::Bytes, extract::State, routing::post};
use http::{HeaderMap, StatusCode};
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinHandle,
};

use super::{DEFAULT_TIMEOUT, server::listen};

/// Maximum number of deliveries that have not been read; more are answered with 503, and retried.
const MAX_UNREAD: usize = 1_000;

/// Receives webhook deliveries on a free port of this machine, and verifies them. Dropping it
/// closes the port.
///
/// ```no_run
/// use a2a_kit::{AgentCard, Engine, agent_fn, client::MessageRequest, testing};
///
/// # async fn example() -> Result<(), a2a_kit::Error> {
/// let webhook = testing::WebhookReceiver::start().await;
/// let echo = agent_fn(async |text: String| text);
/// let engine = Engine::builder(AgentCard::new("Echo", "Repeats"), echo)
///     .push_sender(testing::WebhookReceiver::sender())
///     .build();
/// let message = MessageRequest::from("hi").with_push(webhook.config());
/// testing::client(&engine).send(message).await?;
/// let first = webhook.next().await;
/// # Ok(())
/// # }
/// ```
pub struct WebhookReceiver {
    config: TaskPushNotificationConfig,
    deliveries: Mutex<mpsc::Receiver<Result<Event, String>>>,
    serving: JoinHandle<()>,
}

struct Shared {
    receiver: Receiver,
    deliveries: mpsc::Sender<Result<Event, String>>,
}

impl WebhookReceiver {
    /// Starts a receiver that accepts deliveries with the token of its [`config`](Self::config).
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start() -> Self {
        Self::start_with(|receiver| receiver).await
    }

    /// Starts a receiver with more checks, for example of signatures.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start_with(checks: impl FnOnce(Receiver) -> Receiver) -> Self {
        let (origin, listener) = listen().await;
        let url = format!("{origin}/hook");
        let config = TaskPushNotificationConfig {
            url: url.clone(),
            token: fresh_id(),
            ..TaskPushNotificationConfig::default()
        };
        let receiver = checks(crate::webhook::receiver(url).with_token(&config.token));
        let (sender, deliveries) = mpsc::channel(MAX_UNREAD);
        let shared = Arc::new(Shared { receiver, deliveries: sender });
        let router = Router::new().route("/hook", post(receive)).with_state(shared);
        let server = a2a_kit_http::HttpServer::new(router);
        let serving = tokio::spawn(server.serve(listener, std::future::pending()));
        Self { config, deliveries: Mutex::new(deliveries), serving }
    }

    /// The webhook to register, with URL and token.
    pub fn config(&self) -> TaskPushNotificationConfig {
        self.config.clone()
    }

    /// A sender that may call receivers on this machine over plain HTTP, for
    /// [`EngineBuilder::push_sender`](a2a_kit_operations::EngineBuilder::push_sender).
    ///
    /// # Panics
    ///
    /// If there is no TLS configuration.
    pub fn sender() -> Webhooks {
        let policy = WebhookPolicy::default().with_http(true);
        let policy = [Ipv4Addr::LOCALHOST.to_string()]
            .iter()
            .filter_map(|host| host.parse().ok())
            .fold(policy, WebhookPolicy::with_allowed);
        match Webhooks::new(policy) {
            Ok(webhooks) => webhooks,
            Err(error) => panic!("no webhook sender: {error:?}"),
        }
    }

    /// Waits for the next delivery.
    ///
    /// # Panics
    ///
    /// If there is none for [`DEFAULT_TIMEOUT`], or it was rejected.
    pub async fn next(&self) -> Event {
        match tokio::time::timeout(DEFAULT_TIMEOUT, async {
            self.deliveries.lock().await.recv().await
        })
        .await
        {
            Ok(Some(Ok(event))) => event,
            Ok(Some(Err(error))) => panic!("a delivery was rejected: {error}"),
            Ok(None) => panic!("the receiver stopped"),
            Err(_) => panic!("no delivery for {DEFAULT_TIMEOUT:?}"),
        }
    }
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    // Before the check: a delivery can be received only once.
    let Ok(permit) = shared.deliveries.try_reserve() else {
        return StatusCode::SERVICE_UNAVAILABLE;
    };
    match shared.receiver.receive(&headers, &body).await {
        Ok(event) => {
            permit.send(Ok(event));
            StatusCode::NO_CONTENT
        }
        Err(error) => {
            let status = error.status();
            permit.send(Err(error.to_string()));
            status
        }
    }
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for WebhookReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookReceiver").field("url", &self.config.url).finish_non_exhaustive()
    }
}
