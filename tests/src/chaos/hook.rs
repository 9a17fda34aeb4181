use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::post,
};
use futures_util::stream;
use serde_json::Value;
use tokio::task::JoinHandle;

/// The behavior of webhook receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// Reject every n-th delivery with 503; 0 rejects none.
    Reject(u64),
    /// The first five deliveries to each webhook get 500, 429, no response, a closed connection,
    /// and an endless response; the others succeed.
    Misbehave,
}

/// A receiver that records deliveries by the name of the webhook.
#[derive(Debug)]
pub struct Hooks {
    url: String,
    inner: Arc<Inner>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Inner {
    behavior: Behavior,
    state: Mutex<Received>,
}

#[derive(Debug, Default)]
struct Received {
    calls: u64,
    /// The number of calls by webhook.
    calls_of: HashMap<String, u64>,
    /// The accepted deliveries by webhook.
    received: HashMap<String, Vec<Value>>,
}

impl Hooks {
    /// Starts the receiver.
    pub async fn start(behavior: Behavior) -> Self {
        let inner = Arc::new(Inner { behavior, state: Mutex::default() });
        let router =
            Router::new().route("/hook/{name}", post(receive)).with_state(Arc::clone(&inner));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("serving");
        });
        Self { url, inner, server }
    }

    /// The address of a webhook.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    /// The accepted deliveries of a webhook, in order.
    pub fn received(&self, name: &str) -> Vec<Value> {
        let state = self.inner.state.lock().expect("no panic while locked");
        state.received.get(name).cloned().unwrap_or_default()
    }

    /// The total number of calls.
    pub fn calls(&self) -> u64 {
        self.inner.state.lock().expect("no panic while locked").calls
    }

    /// Discards the deliveries of a webhook.
    pub fn forget(&self, name: &str) {
        self.inner.state.lock().expect("no panic while locked").received.remove(name);
    }
}

async fn receive(
    State(inner): State<Arc<Inner>>,
    Path(name): Path<String>,
    body: Bytes,
) -> Response {
    let (calls, calls_of_this) = {
        let mut state = inner.state.lock().expect("no panic while locked");
        state.calls += 1;
        let of_this = state.calls_of.entry(name.clone()).or_default();
        *of_this += 1;
        let of_this = *of_this;
        (state.calls, of_this)
    };
    match inner.behavior {
        Behavior::Reject(0) => {}
        Behavior::Reject(every) if calls % every == 0 => {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        Behavior::Reject(_) => {}
        Behavior::Misbehave => match calls_of_this {
            1 => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            2 => return (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "1")]).into_response(),
            3 => std::future::pending::<()>().await,
            4 => panic!("close the connection on purpose"),
            5 => {
                inner.take(name, &body);
                let more = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b"more")));
                return Body::from_stream(more).into_response();
            }
            _ => {}
        },
    }
    inner.take(name, &body).into_response()
}

impl Inner {
    fn take(&self, name: String, body: &[u8]) -> StatusCode {
        let Ok(body) = serde_json::from_slice(body) else { return StatusCode::BAD_REQUEST };
        let mut state = self.state.lock().expect("no panic while locked");
        state.received.entry(name).or_default().push(body);
        StatusCode::OK
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.server.abort();
    }
}
