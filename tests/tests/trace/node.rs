//! A simulated process with its own threads, spans and exporter.

use std::{future::Future, time::Duration};

use a2a_kit_operations::Engine;
use a2a_kit_telemetry::{Otlp, Traces};
use tokio::runtime::{Builder, Runtime};
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::layer::SubscriberExt as _;

/// A node. Its spans are exported under its name.
pub(crate) struct Node {
    runtime: Option<Runtime>,
    traces: Traces,
}

impl Node {
    pub(crate) fn new(name: &str, collector: &str) -> Self {
        a2a_kit_telemetry::propagation::install();
        let traces = Traces::new(Otlp::to(collector).with_service_name(name)).unwrap();
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(traces.layer()));
        let mut builder = Builder::new_multi_thread();
        let runtime = builder
            .worker_threads(2)
            .enable_all()
            // Installed for the lifetime of the thread.
            .on_thread_start(move || std::mem::forget(dispatcher::set_default(&dispatch)))
            .build()
            .unwrap();
        Self { runtime: Some(runtime), traces }
    }

    /// Runs something on this node.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        self.runtime.as_ref().unwrap().spawn(work).await.unwrap()
    }

    /// Serves an agent on this node and returns its URL.
    pub(crate) async fn serve(&self, engine: impl FnOnce() -> Engine + Send + 'static) -> String {
        self.run(async move {
            let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let server = a2a_kit::Server::from(engine());
            tokio::spawn(async move {
                server.serve(listener, std::future::pending()).await.unwrap();
            });
            url
        })
        .await
    }

    /// Stops everything on this node.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Flushes spans to the collector.
    pub(crate) async fn flush(&self) {
        let traces = self.traces.clone();
        tokio::task::spawn_blocking(move || traces.flush()).await.unwrap();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
        let traces = self.traces.clone();
        // Dropping the last reference would wait for its thread on this one.
        drop(std::thread::spawn(move || traces.shut_down(Duration::from_secs(1))));
    }
}

/// Flushes all nodes repeatedly while a future waits for their spans.
pub(crate) async fn flushing<T>(nodes: &[&Node], work: impl Future<Output = T>) -> T {
    let flushing = async {
        loop {
            for node in nodes {
                node.flush().await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        result = work => result,
        () = flushing => unreachable!("it does not end"),
    }
}
