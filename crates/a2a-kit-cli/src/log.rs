//! The log on stderr, and telemetry.

use std::{net::SocketAddr, path::PathBuf};

use a2a_kit_http::tls::ClientTls;
use a2a_kit_operations::trace;
use a2a_kit_telemetry::{Audit, Config, Format, Otlp, TelemetryGuard};
use axum::{
    Router,
    extract::{ConnectInfo, Request},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, StatusCode, header};

use crate::{failure::Failure, settings::value};

/// The level of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Warnings and errors.
    Warnings,
    /// Operations as well.
    Operations,
    /// Debug output.
    Debug,
}

/// Telemetry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observe {
    /// The OTLP collector; default: the standard variables.
    pub(crate) otlp_endpoint: Option<String>,
    /// Whether metrics and the log are exported to the collector as well.
    pub(crate) otlp_metrics: bool,
    pub(crate) otlp_logs: bool,
    /// Whether lines of the log are JSON objects.
    pub(crate) is_json: bool,
    /// Whether the log is buffered. Commands don't, to keep the order of their output.
    pub(crate) is_buffered: bool,
    /// Whether metrics are recorded.
    pub(crate) metrics: bool,
    /// The file of security events; `-` is stderr.
    pub(crate) audit: Option<PathBuf>,
    /// TLS configuration for the collector.
    pub(crate) trust: ClientTls,
}

/// Starts the log, which includes panics, and telemetry. `RUST_LOG` overrides `detail`.
///
/// # Errors
///
/// A usage failure for invalid settings.
pub(crate) fn start(detail: Detail, observe: Observe) -> Result<TelemetryGuard, Failure> {
    let fallback = match detail {
        Detail::Warnings => "warn",
        Detail::Operations => "info",
        Detail::Debug => {
            "info,a2a=debug,a2a_kit_client=debug,a2a_kit_http=debug,a2a_kit_operations=debug"
        }
    };
    let asked = std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let format = if observe.is_json { Format::Json } else { Format::Text };
    let audit = match observe.audit {
        None => Audit::Log,
        Some(path) if path.as_os_str() == "-" => Audit::Stderr,
        Some(path) => Audit::File(path),
    };
    let variables = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    let variables = variables.map(|name| (name, std::env::var(name).ok()));
    let flag = ("--otlp-endpoint", observe.otlp_endpoint.clone());
    for (source, endpoint) in variables.into_iter().chain([flag]) {
        // An exporter could not use it, and its errors quote it.
        value::public_address(endpoint.as_deref().unwrap_or_default())
            .map_err(|problem| Failure::usage(format!("{source} {problem}")))?;
    }
    let otlp = observe.otlp_endpoint.map(Otlp::to).or_else(Otlp::from_environment);
    let shows_spans = asked.is_some() || observe.is_json || detail == Detail::Debug;
    let config = Config::default()
        .with_spans(shows_spans)
        .with_filter(asked.unwrap_or_else(|| fallback.to_owned()))
        .with_format(format)
        .with_buffered(observe.is_buffered)
        .with_otlp(otlp.map(|mut otlp| {
            otlp.metrics |= observe.otlp_metrics;
            otlp.logs |= observe.otlp_logs;
            otlp.with_tls(observe.trust)
        }))
        .with_metrics(observe.metrics)
        .with_audit(audit);
    let guard = a2a_kit_telemetry::init(config)
        .map_err(|error| Failure::usage(crate::failure::chain(&error)))?;
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let text = panic.payload_as_str().unwrap_or("no text");
        tracing::error!(place, "a panic: {text}");
    }));
    Ok(guard)
}

/// The variable with the trace context of a command.
pub(crate) const TRACEPARENT: &str = "TRACEPARENT";

/// The span of a command that calls an agent, in the trace of [`TRACEPARENT`].
pub(crate) fn command_span() -> tracing::Span {
    let span = tracing::info_span!("command", otel.kind = "internal", otel.name = "a2a");
    let parent = std::env::var(TRACEPARENT).ok().and_then(|text| text.parse().ok());
    trace::adopt(&span, parent.as_ref());
    span
}

/// Serves routes to loopback addresses only. Requests that a local proxy forwards are not local.
pub(crate) fn for_this_machine(router: Router) -> Router {
    router.route_layer(middleware::from_fn(this_machine))
}

async fn this_machine(request: Request, next: Next) -> Response {
    const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let is_local = peer.is_some_and(|ConnectInfo(peer)| peer.ip().to_canonical().is_loopback());
    let is_forwarded = [header::FORWARDED, FORWARDED_FOR, header::VIA]
        .iter()
        .any(|name| request.headers().contains_key(name));
    if is_local && !is_forwarded {
        next.run(request).await
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}
