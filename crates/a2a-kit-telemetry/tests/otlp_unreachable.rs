//! A collector that can't be reached is named in the log.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a_kit_telemetry::{Otlp, Prometheus, Traces};
use tracing_subscriber::{Layer as _, fmt, layer::SubscriberExt as _};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn unreachable_collector_is_named_once_and_lost_spans_are_counted() {
    let prometheus = Prometheus::install().unwrap();
    let lines = Lines::default();
    let writer = lines.clone();
    let log = fmt::layer().with_ansi(false).with_writer(move || writer.clone());
    let log = log.with_filter(a2a_kit_telemetry::quiet("info").unwrap());
    let traces = Traces::new(Otlp::to("http://127.0.0.1:9")).unwrap();
    let subscriber = tracing_subscriber::registry().with(log).with(traces.layer());
    // The exporter has a thread of its own.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    for _ in 0..3 {
        tracing::info_span!("work").in_scope(|| {});
        traces.flush();
    }
    traces.shut_down(Duration::from_secs(1));
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.matches("collector can't be reached").count(), 1, "{text}");
    assert!(text.contains("signal=\"traces\"") && text.contains("refused"), "{text}");
    let metrics = prometheus.render();
    assert!(metrics.contains("a2a_spans_dropped_total 3\n"), "{metrics}");

    // A collector that never responds: 4,096 spans are pending.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let traces = Traces::new(Otlp::to(url)).unwrap();
    let subscriber = tracing_subscriber::registry().with(traces.layer());
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..4_100 {
            tracing::info_span!("work").in_scope(|| {});
        }
    });
    let metrics = prometheus.render();
    assert!(metrics.contains("a2a_spans_dropped_total 7\n"), "{metrics}");
    traces.shut_down(Duration::ZERO);
}
