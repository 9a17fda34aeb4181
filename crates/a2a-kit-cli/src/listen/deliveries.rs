//! The HTTP side of a webhook: accepts verified deliveries.

use std::{
    num::NonZeroU64,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use a2a_core::{Error, v1::StreamResponse};
use a2a_kit_auth::webhook::Receiver;
use a2a_kit_http::{Limits, body, error_response, site_guard::SiteGuard};
use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header::ALLOW};
use tokio::sync::mpsc;

use crate::{failure::chain, output::Output};

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 64;
/// Maximum size of all bodies in transit, in bytes.
const MAX_PENDING_BODY_BYTES: usize = 64 << 20;
/// Maximum number of accepted events that are not yet printed. Agents have to retry further ones.
const MAX_PENDING_EVENTS: usize = 64;

/// The limits of the server.
pub(crate) fn limits() -> Limits {
    Limits::default()
        .with_max_connections(MAX_CONNECTIONS)
        .with_max_connections_per_address(MAX_CONNECTIONS)
        .with_max_pending_body_bytes(MAX_PENDING_BODY_BYTES)
}

/// Verifies deliveries to one path, and passes their events on.
pub(crate) struct Deliveries {
    path: String,
    receiver: Receiver,
    /// Keeps pages of other sites out, if deliveries are not authenticated.
    guard: Option<SiteGuard>,
    events: mpsc::Sender<StreamResponse>,
    /// How many more events are accepted.
    remaining: Option<AtomicU64>,
    output: Output,
}

impl Deliveries {
    /// Creates the deliveries and the queue of their events; with a count, only that many are
    /// accepted.
    pub(crate) fn new(
        path: String,
        receiver: Receiver,
        count: Option<NonZeroU64>,
        output: Output,
    ) -> (Self, mpsc::Receiver<StreamResponse>) {
        let (events, queue) = mpsc::channel(MAX_PENDING_EVENTS);
        let remaining = count.map(|count| AtomicU64::new(count.get()));
        (Self { path, receiver, guard: None, events, remaining, output }, queue)
    }

    /// Rejects requests for other hosts and from pages of other sites.
    pub(crate) fn with_guard(self, guard: SiteGuard) -> Self {
        Self { guard: Some(guard), ..self }
    }

    /// The router of a server that receives them.
    pub(crate) fn into_router(self) -> Router {
        // A fallback in place of a route, as the path may have characters that mean parameters.
        Router::new().fallback(receive).with_state(Arc::new(self))
    }

    async fn accept(&self, request: Request) -> Response {
        if request.uri().path() != self.path {
            return StatusCode::NOT_FOUND.into_response();
        }
        if request.method() != Method::POST {
            let mut response = StatusCode::METHOD_NOT_ALLOWED.into_response();
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        let (head, body) = request.into_parts();
        if let Some(guard) = &self.guard
            && let Err(error) = guard.check(&head)
        {
            self.output.note(&format!("rejected a delivery: {error}; use --token or --public-url"));
            return error_response::write(&head, &error);
        }
        let body = match body::read(body, &limits()).await {
            Ok(body) => body,
            Err(error) => return status(&error).into_response(),
        };
        let event = match self.receiver.receive(&head.headers, &body).await {
            Ok(event) => event.into_response(),
            Err(error) => {
                self.output.note(&format!("rejected a delivery: {}", chain(&error)));
                return error.into_response();
            }
        };
        if event.payload.is_none() {
            return StatusCode::BAD_REQUEST.into_response();
        }
        let Ok(place) = self.events.try_reserve() else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        if !self.counts_down() {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        place.send(event);
        StatusCode::NO_CONTENT.into_response()
    }

    /// Takes one of the remaining events; `false` after the last one.
    fn counts_down(&self) -> bool {
        let Some(remaining) = &self.remaining else { return true };
        let less = |remaining: u64| remaining.checked_sub(1);
        remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

async fn receive(State(deliveries): State<Arc<Deliveries>>, request: Request) -> Response {
    deliveries.accept(request).await
}

fn status(error: &Error) -> StatusCode {
    StatusCode::from_u16(error.kind().codes().http).unwrap_or(StatusCode::BAD_REQUEST)
}
