//! Readiness: the checks behind `/readyz`.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use a2a_core::Result;
use a2a_kit_http::Drain;
use a2a_kit_operations::metrics;
use axum::{
    Router,
    extract::Request,
    response::{IntoResponse as _, Response},
    routing::get,
};
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared, join_all},
};
use http::{StatusCode, header};
use tokio::time::{Instant, timeout};

/// Timeout of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// How long results are cached.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The paths of health probes, which a server of these routes serves beyond the limit of connections
/// as well ([`HttpServer::with_probes`](a2a_kit_http::HttpServer::with_probes)).
pub const PROBES: &[&str] = &["/healthz", "/readyz", "/grpc.health.v1.Health/Check"];

/// A check of `/readyz`. It runs at most once a second, and fails after a second.
#[derive(Clone)]
pub struct ReadinessCheck {
    part: &'static str,
    check: Arc<dyn Fn() -> BoxFuture<'static, Result<()>> + Send + Sync>,
}

impl ReadinessCheck {
    /// Creates a check of a part, which has this public name.
    pub fn new<F>(part: &'static str, check: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        Self { part, check: Arc::new(move || check().boxed()) }
    }
}

a2a_core::debug_fields!(ReadinessCheck { part, .. });

/// The names of failed checks.
type Missing = Arc<[&'static str]>;

/// The checks of a server, run at most once a second.
#[derive(Clone, Default)]
pub(crate) struct Readiness {
    pub(crate) checks: Vec<ReadinessCheck>,
    latest: Arc<Mutex<Option<Latest>>>,
    /// The checks that failed last, so that each change is logged once.
    failed: Arc<Mutex<BTreeSet<&'static str>>>,
}

struct Latest {
    begun: Instant,
    missing: Shared<BoxFuture<'static, Missing>>,
}

impl Readiness {
    /// Serves `/healthz`, which succeeds while the process runs, and `/readyz`, which succeeds while
    /// it accepts requests.
    pub(crate) fn router(self) -> Router {
        let ready = async move |request: Request| {
            let json = request
                .headers()
                .get(header::ACCEPT)
                .is_some_and(|accept| accept.as_bytes().starts_with(b"application/json"));
            let draining = Drain::of(request.extensions()).is_announced();
            // Draining takes precedence over the checks.
            let missing = if draining { Arc::default() } else { self.missing().await };
            answer(draining, &missing, json)
        };
        Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(ready))
    }

    async fn missing(&self) -> Missing {
        let missing = {
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            match &*latest {
                Some(latest) if latest.begun.elapsed() < MAX_AGE => latest.missing.clone(),
                _ => {
                    let failed = Arc::clone(&self.failed);
                    let missing = check(self.checks.clone(), failed).boxed().shared();
                    *latest = Some(Latest { begun: Instant::now(), missing: missing.clone() });
                    missing
                }
            }
        };
        missing.await
    }
}

async fn check(checks: Vec<ReadinessCheck>, failed: Arc<Mutex<BTreeSet<&'static str>>>) -> Missing {
    let checked = checks.into_iter().map(async |ReadinessCheck { part, check }| {
        let result = match timeout(CHECK_TIMEOUT, check()).await {
            Ok(result) => result.map_err(|error| format!("{error:?}")),
            Err(_elapsed) => Err("no answer in time".to_owned()),
        };
        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => {
                if failed.remove(part) {
                    tracing::info!(part, "ready again");
                }
                None
            }
            Err(error) => {
                if failed.insert(part) {
                    tracing::warn!(part, error, "not ready");
                }
                Some(part)
            }
        }
    });
    let missing: Missing = join_all(checked).await.into_iter().flatten().collect();
    metrics::ready(missing.is_empty());
    missing
}

fn answer(draining: bool, missing: &[&str], json: bool) -> Response {
    let is_ready = !draining && missing.is_empty();
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = match (draining, is_ready) {
        (true, _) => "draining",
        (false, true) => "ready",
        (false, false) => "not ready",
    };
    if json {
        let mut body = format!("{{\"status\":\"{word}\",\"missing\":[");
        for (index, part) in missing.iter().enumerate() {
            // The names need no escaping.
            let _ = write!(body, "{}\"{part}\"", if index == 0 { "" } else { "," });
        }
        body.push_str("]}\n");
        return (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    }
    let mut body = word.to_owned();
    if !missing.is_empty() {
        let _ = write!(body, ": {}", missing.join(", "));
    }
    body.push('\n');
    (status, body).into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use a2a_core::Error;
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(router: &Router, accept: &str) -> (StatusCode, String) {
        let request = http::Request::builder().uri("/readyz").header(header::ACCEPT, accept);
        let request = request.body(axum::body::Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn failed_and_hanging_checks_are_named_and_run_once_a_second() {
        let asked = Arc::new(AtomicUsize::new(0));
        let mut readiness = Readiness::default();
        let counted = Arc::clone(&asked);
        readiness.checks.push(ReadinessCheck::new("store", move || {
            let before = counted.fetch_add(1, Ordering::Relaxed);
            async move {
                match before {
                    0 => Ok(()),
                    1 => Err(Error::unavailable("the disk is gone")),
                    _ => std::future::pending().await,
                }
            }
        }));
        let router = readiness.router();
        for _ in 0..5 {
            assert_eq!(ask(&router, "*/*").await, (StatusCode::OK, "ready\n".into()));
        }
        for _ in 0..2 {
            tokio::time::sleep(MAX_AGE).await;
            let answers = join_all((0..5).map(|_| ask(&router, "*/*"))).await;
            for (status, body) in answers {
                assert_eq!((status.as_u16(), &*body), (503, "not ready: store\n"));
            }
            assert_eq!(
                ask(&router, "application/json").await.1,
                "{\"status\":\"not ready\",\"missing\":[\"store\"]}\n"
            );
        }
        // A check that timed out is run again after that.
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }
}
