//! Agents in an application that serves them.

use std::{fmt, future::Future, time::Duration};

use a2a_kit_http::Drain;
use a2a_kit_operations::Engine;
use axum::{Router, extract::Request, middleware};
use tokio::task::JoinHandle;

/// Agents as routes of an application, and their graceful shutdown.
///
/// ```no_run
/// use a2a_kit::{AgentCard, Engine, Server, agent_fn, http::shutdown_signal};
/// use axum::{Router, routing::get};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// let card = AgentCard::new("Echo", "Repeats its input");
/// let engine = Engine::new(card, agent_fn(async |text: String| text));
///
/// let agent = Server::from(engine).mount(listener.local_addr()?, shutdown_signal())?;
/// let application = Router::new().route("/about", get("An agent")).merge(agent.router());
/// axum::serve(listener, application).with_graceful_shutdown(agent.stopping()).await?;
/// agent.stopped().await;
/// # Ok(())
/// # }
/// ```
///
/// The shutdown begins by itself when the signal given to [`Server::mount`] completes, so that no
/// open event stream keeps the application from stopping:
///
/// 1. Event streams end with an error on which clients reconnect, after
///    [`Limits::stream_drain_timeout`].
/// 2. Running executors have [`Limits::drain_timeout`] to finish.
/// 3. Executors that are still running are dropped, and the stores are closed: see
///    [`Engine::shutdown`].
///
/// [`Limits::stream_drain_timeout`]: a2a_kit_http::Limits::stream_drain_timeout
/// [`Limits::drain_timeout`]: a2a_kit_http::Limits::drain_timeout
/// [`Server::mount`]: crate::Server::mount
#[must_use]
pub struct Mounted {
    router: Router,
    drain: Drain,
    shutdown: JoinHandle<()>,
}

impl Mounted {
    /// Starts the task that shuts the engines down after `shutdown`.
    pub(crate) fn new(
        router: Router,
        engines: Vec<Engine>,
        drain: Drain,
        grace: Duration,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let of_request = drain.clone();
        let router = router.layer(middleware::map_request(move |mut request: Request| {
            let drain = of_request.clone();
            async move {
                // `HttpServer` has added its own.
                if request.extensions().get::<Drain>().is_none() {
                    request.extensions_mut().insert(drain);
                }
                request
            }
        }));
        let signal = drain.clone();
        let shutdown = tokio::spawn(async move {
            let stopping = async {
                tokio::select! {
                    () = shutdown => signal.start(),
                    () = signal.started() => {}
                }
            };
            signal.serve_engines(&engines, grace, stopping).await;
        });
        Self { router, drain, shutdown }
    }

    /// The routes, to merge or nest into those of the application.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Completes when the shutdown begins: the signal for the server of the application.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        self.drain.started()
    }

    /// Waits until executors have ended and stores are closed. Await it after the server has
    /// stopped.
    pub async fn stopped(self) {
        // An error is a panic, which has been reported, or the end of the runtime.
        let _ = self.shutdown.await;
    }
}

impl fmt::Debug for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mounted")
            .field("is_stopping", &self.drain.has_started())
            .finish_non_exhaustive()
    }
}
