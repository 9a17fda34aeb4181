//! Redirects to the loopback interface (RFC 8252 §7.3).

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, StatusCode, Uri,
    header::{CONNECTION, CONTENT_TYPE},
};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, Sender},
    task::JoinSet,
};

use crate::client::CredentialError;

/// A loopback port that waits for one redirect.
pub(super) struct LoopbackRedirect {
    listener: TcpListener,
    /// The redirect URI.
    pub(super) address: String,
}

/// Connections at a time; a browser opens a few.
const MAX_CONNECTIONS: usize = 16;
/// Time to write the response to the redirect.
const RESPONSE: Duration = Duration::from_secs(1);
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
        let waiting = Arc::new(waiting);
        // Dropped with the connections when the redirect has arrived.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let (stream, _) = accepted.map_err(CredentialError::unavailable)?;
                    let waiting = Arc::clone(&waiting);
                    let service = service_fn(move |request: Request<_>| {
                        let response = waiting.respond(request.uri());
                        async { Ok::<_, Infallible>(response) }
                    });
                    if connections.len() < MAX_CONNECTIONS {
                        let connection = http1::Builder::new()
                            .timer(TokioTimer::new())
                            .serve_connection(TokioIo::new(stream), service);
                        connections.spawn(async { drop(connection.await) });
                    }
                }
                Some(_) = connections.join_next() => {}
                Some(redirect) = redirects.recv() => {
                    // The response is still to be written.
                    let written = async { while connections.join_next().await.is_some() {} };
                    drop(tokio::time::timeout(RESPONSE, written).await);
                    return Ok(redirect);
                }
            }
        }
    }
}

impl Waiting {
    fn respond(&self, uri: &Uri) -> Response<Full<Bytes>> {
        let address = format!("{}{uri}", self.origin);
        let (status, page) = if uri.path() != PATH {
            (StatusCode::NOT_FOUND, UNKNOWN)
        } else if (self.is_expected)(&address) && self.found.try_send(address).is_ok() {
            (StatusCode::OK, DONE)
        } else {
            (StatusCode::BAD_REQUEST, UNKNOWN)
        };
        let mut response = Response::new(Full::from(page));
        *response.status_mut() = status;
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, html);
        // One request per connection: an idle one would delay the end.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }
}
