//! Redirects to the loopback interface (RFC 8252 §7.3).

use std::{future::IntoFuture as _, sync::Arc};

use axum::{Router, extract::State, response::Html, routing::get};
use http::{StatusCode, Uri};
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, Sender},
};

use crate::client::CredentialError;

/// A loopback port that waits for one redirect.
pub(super) struct LoopbackRedirect {
    listener: TcpListener,
    address: String,
}

const PATH: &str = "/callback";
const DONE: &str = "<!doctype html><meta charset=utf-8><title>Done</title>\
    <p>The application has received the response. You can close this page.";
const UNKNOWN: &str = "<!doctype html><meta charset=utf-8><title>Unknown</title>\
    <p>There is no authorization in progress.";

struct Waiting {
    origin: String,
    is_expected: Box<dyn Fn(&str) -> bool + Send + Sync>,
    found: Sender<String>,
}

impl LoopbackRedirect {
    pub(super) async fn bind(port: u16) -> Result<Self, CredentialError> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await;
        let listener = listener.map_err(CredentialError::unavailable)?;
        let port = listener.local_addr().map_err(CredentialError::unavailable)?.port();
        Ok(Self { listener, address: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// The redirect URI.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the expected redirect, and returns its URL. Other requests are rejected and
    /// ignored.
    pub(super) async fn wait(
        self,
        is_expected: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Result<String, CredentialError> {
        // A second redirect of the same request finds the channel full.
        let (found, mut redirects) = mpsc::channel(1);
        let origin = self.address.trim_end_matches(PATH).to_owned();
        let waiting = Waiting { origin, is_expected: Box::new(is_expected), found };
        let router = Router::new()
            .route(PATH, get(redirected))
            .fallback(async || (StatusCode::NOT_FOUND, Html(UNKNOWN)))
            .with_state(Arc::new(waiting));
        tokio::select! {
            served = axum::serve(self.listener, router).into_future() => {
                Err(CredentialError::unavailable(match served {
                    Ok(()) => "redirect listener stopped".to_owned(),
                    Err(error) => error.to_string(),
                }))
            }
            redirect = redirects.recv() => {
                redirect.ok_or_else(|| CredentialError::unavailable("redirect listener stopped"))
            }
        }
    }
}

async fn redirected(
    State(waiting): State<Arc<Waiting>>,
    uri: Uri,
) -> (StatusCode, Html<&'static str>) {
    let address = format!("{}{uri}", waiting.origin);
    if (waiting.is_expected)(&address) && waiting.found.try_send(address).is_ok() {
        (StatusCode::OK, Html(DONE))
    } else {
        (StatusCode::BAD_REQUEST, Html(UNKNOWN))
    }
}
