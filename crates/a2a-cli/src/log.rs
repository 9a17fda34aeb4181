//! The log, on stderr.

use std::{io, time::Instant};

use axum::{extract::Request, middleware::Next, response::Response};
use tracing_subscriber::EnvFilter;

/// How much is logged, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What somebody should act on.
    Warnings,
    /// Every request too.
    Traffic,
    /// The same as JSON lines.
    TrafficAsJson,
    /// What a developer follows.
    Debug,
}

/// Starts to log to stderr, panics included. `RUST_LOG` overrides the detail.
pub(crate) fn to_stderr(detail: Detail) {
    let fallback = match detail {
        Detail::Warnings => "warn",
        Detail::Traffic | Detail::TrafficAsJson => "info",
        Detail::Debug => "info,a2a=debug,a2a_client=debug,a2a_http=debug,a2a_operations=debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| fallback.into());
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false);
    // Only a second call can fail, and the first one's log is as good.
    let _already_set = match detail {
        Detail::TrafficAsJson => log.json().flatten_event(true).try_init(),
        Detail::Warnings | Detail::Traffic | Detail::Debug => log.try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let text = panic.payload_as_str().unwrap_or("no text");
        tracing::error!(place, "a panic: {text}");
    }));
}

/// Logs one line per request: never its body, its query or its credentials.
pub(crate) async fn traffic(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::info!(%method, path, status, micros, "request");
    response
}
