//! The log on stderr, and telemetry.

use std::net::SocketAddr;

use a2a_kit_operations::trace;
use a2a_kit_telemetry::{Audit, Config, Format, Otlp, TelemetryGuard};
use axum::{
    Router,
    extract::{ConnectInfo, Request},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, StatusCode, header};

use crate::{
    failure::Failure,
    settings::{Settings, serve::Telemetry, value},
};

/// Starts the log, which includes panics, and telemetry: of a server with its settings, else of a
/// command. `RUST_LOG` overrides the level of the settings.
pub(crate) fn start(
    settings: &Settings,
    server: Option<&Telemetry>,
) -> Result<TelemetryGuard, Failure> {
    let fallback = match settings.debug {
        true => "info,a2a=debug,a2a_kit_client=debug,a2a_kit_http=debug,a2a_kit_operations=debug",
        false if server.is_some_and(|server| server.log_traffic) => "info",
        false => "warn",
    };
    let asked = std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let is_json = server.is_some_and(|server| server.log_json);
    let audit = match server.and_then(|server| server.audit_file.clone()) {
        None => Audit::Log,
        Some(path) if path.as_os_str() == "-" => Audit::Stderr,
        Some(path) => Audit::File(path),
    };
    let endpoint = server.and_then(|server| Some(server.otlp_endpoint.as_ref()?.0.clone()));
    let variables = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    let variables = variables.map(|name| (name, std::env::var(name).ok()));
    let flag = ("--otlp-endpoint", endpoint.clone());
    for (source, endpoint) in variables.into_iter().chain([flag]) {
        // An exporter could not use it, and its errors quote it.
        value::public_address(endpoint.as_deref().unwrap_or_default())
            .map_err(|problem| Failure::usage(format!("{source} {problem}")))?;
    }
    let otlp = endpoint.map(Otlp::to).or_else(Otlp::from_environment);
    let shows_spans = asked.is_some() || is_json || settings.debug;
    let config = Config::default()
        .with_spans(shows_spans)
        .with_filter(asked.unwrap_or_else(|| fallback.to_owned()))
        .with_format(if is_json { Format::Json } else { Format::Text })
        // Commands keep the order of their output.
        .with_buffered(server.is_some())
        .with_otlp(otlp.map(|mut otlp| {
            otlp.metrics |= server.is_some_and(|server| server.otlp_metrics);
            otlp.logs |= server.is_some_and(|server| server.otlp_logs);
            otlp.with_tls(settings.trust.clone())
        }))
        .with_metrics(server.is_some_and(|server| server.metrics))
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

/// The span of a command that calls an agent, in the trace of the variable `TRACEPARENT`.
pub(crate) fn command_span() -> tracing::Span {
    let span = tracing::info_span!("command", otel.kind = "internal", otel.name = "a2a");
    let parent = std::env::var("TRACEPARENT").ok().and_then(|text| text.parse().ok());
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
