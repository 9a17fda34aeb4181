//! The webhook receiver of `a2a listen`: accepts verified deliveries.

use std::{
    num::NonZeroU64,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use a2a_core::{json, v1::StreamResponse};
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
        guard: Option<SiteGuard>,
        count: Option<NonZeroU64>,
        output: Output,
    ) -> (Self, mpsc::Receiver<StreamResponse>) {
        let (events, queue) = mpsc::channel(MAX_PENDING_EVENTS);
        let remaining = count.map(|count| AtomicU64::new(count.get()));
        (Self { path, receiver, guard, events, remaining, output }, queue)
    }

    /// The router of a server that receives them.
    pub(crate) fn into_router(self) -> Router {
        let receive = |State(deliveries): State<Arc<Self>>, request: Request| async move {
            deliveries.accept(request).await
        };
        // A fallback in place of a route, as the path may have characters that mean parameters.
        Router::new().fallback(receive).with_state(Arc::new(self))
    }

    async fn accept(&self, request: Request) -> Response {
        let path = request.uri().path();
        if path != self.path {
            let why = format!("its path is {path} and not {}", self.path);
            return self.refuse(StatusCode::NOT_FOUND, &why);
        }
        if request.method() != Method::POST {
            let why = format!("its method is {} and not POST", request.method());
            let mut response = self.refuse(StatusCode::METHOD_NOT_ALLOWED, &why);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        let (head, body) = request.into_parts();
        if let Some(guard) = &self.guard
            && let Err(error) = guard.check(&head)
        {
            self.note(&format!("{error}; use --token or --public-url"));
            return error_response::write(&head, &error);
        }
        let body = match body::read(body, &limits()).await {
            Ok(body) => body,
            Err(error) => {
                let status = StatusCode::from_u16(error.kind().codes().http);
                return self.refuse(status.unwrap_or(StatusCode::BAD_REQUEST), error.message());
            }
        };
        let event = match self.receiver.receive(&head.headers, &body).await {
            Ok(event) => event.into_response(),
            Err(error) => {
                self.note(&chain(&error));
                return error.into_response();
            }
        };
        if event.payload.is_none() {
            let shown = json::quote(&json::response_text(&body));
            let why = format!("it has no task, message, statusUpdate or artifactUpdate: {shown}");
            return self.refuse(StatusCode::BAD_REQUEST, &why);
        }
        let Ok(place) = self.events.try_reserve() else {
            let why = format!("{MAX_PENDING_EVENTS} events are not yet printed");
            return self.refuse(StatusCode::SERVICE_UNAVAILABLE, &why);
        };
        if !self.counts_down() {
            return self.refuse(StatusCode::SERVICE_UNAVAILABLE, "--count is reached");
        }
        place.send(event);
        StatusCode::NO_CONTENT.into_response()
    }

    fn refuse(&self, status: StatusCode, why: &str) -> Response {
        self.note(why);
        status.into_response()
    }

    fn note(&self, why: &str) {
        self.output.note(&format!("rejected a delivery: {why}"));
    }

    /// Takes one of the remaining events; `false` after the last one.
    fn counts_down(&self) -> bool {
        let Some(remaining) = &self.remaining else { return true };
        let less = |remaining: u64| remaining.checked_sub(1);
        remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}
