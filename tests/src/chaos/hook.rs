use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    routing::post,
};
use serde_json::Value;
use tokio::task::JoinHandle;

/// Webhooks that note what reaches them, one for each name, and refuse now and then.
#[derive(Debug)]
pub struct Hooks {
    url: String,
    inner: Arc<Inner>,
    server: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Inner {
    /// One delivery of so many is refused with 503; 0 refuses none.
    refuses: u64,
    state: Mutex<Received>,
}

#[derive(Debug, Default)]
struct Received {
    calls: u64,
    /// What was taken, by the name of the webhook.
    taken: HashMap<String, Vec<Value>>,
}

impl Hooks {
    /// Listens; refuses one of so many deliveries.
    pub async fn start(refuses: u64) -> Self {
        let inner = Arc::new(Inner { refuses, state: Mutex::default() });
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

    /// What a webhook has taken so far, in the order in which it came.
    pub fn taken(&self, name: &str) -> Vec<Value> {
        let state = self.inner.state.lock().expect("nobody panics here");
        state.taken.get(name).cloned().unwrap_or_default()
    }

    /// How often webhooks were called.
    pub fn calls(&self) -> u64 {
        self.inner.state.lock().expect("nobody panics here").calls
    }

    /// Forgets what a webhook has taken.
    pub fn forget(&self, name: &str) {
        self.inner.state.lock().expect("nobody panics here").taken.remove(name);
    }
}

async fn receive(
    State(inner): State<Arc<Inner>>,
    Path(name): Path<String>,
    body: Bytes,
) -> StatusCode {
    let mut state = inner.state.lock().expect("nobody panics here");
    state.calls += 1;
    if inner.refuses > 0 && state.calls % inner.refuses == 0 {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let Ok(body) = serde_json::from_slice(&body) else { return StatusCode::BAD_REQUEST };
    state.taken.entry(name).or_default().push(body);
    StatusCode::OK
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.server.abort();
    }
}
