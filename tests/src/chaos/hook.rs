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

/// How webhooks behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// One delivery of so many is refused with 503; 0 refuses none.
    Refuse(u64),
    /// The first five deliveries to each are refused, told to come later, never answered, cut
    /// off, and answered without end; the rest is taken.
    Rude,
}

/// Webhooks that note what reaches them, one for each name.
#[derive(Debug)]
pub struct Hooks {
    url: String,
    inner: Arc<Inner>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Inner {
    manners: Manners,
    state: Mutex<Received>,
}

#[derive(Debug, Default)]
struct Received {
    calls: u64,
    /// How often each webhook was called.
    calls_of: HashMap<String, u64>,
    /// What was taken, by the name of the webhook.
    taken: HashMap<String, Vec<Value>>,
}

impl Hooks {
    /// Listens.
    pub async fn start(manners: Manners) -> Self {
        let inner = Arc::new(Inner { manners, state: Mutex::default() });
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
) -> Response {
    let (calls, calls_of_this) = {
        let mut state = inner.state.lock().expect("nobody panics here");
        state.calls += 1;
        let of_this = state.calls_of.entry(name.clone()).or_default();
        *of_this += 1;
        let of_this = *of_this;
        (state.calls, of_this)
    };
    match inner.manners {
        Manners::Refuse(0) => {}
        Manners::Refuse(every) if calls % every == 0 => {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        Manners::Refuse(_) => {}
        Manners::Rude => match calls_of_this {
            1 => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            2 => return (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "1")]).into_response(),
            3 => std::future::pending::<()>().await,
            4 => panic!("the connection is cut on purpose"),
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
        let mut state = self.state.lock().expect("nobody panics here");
        state.taken.entry(name).or_default().push(body);
        StatusCode::OK
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.server.abort();
    }
}
