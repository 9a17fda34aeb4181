//! Collectors that are unreachable or hang.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{net::TcpListener, thread, time::Duration};

use a2a_kit_telemetry::{InitError, Otlp, Traces};
use tracing_subscriber::layer::SubscriberExt as _;

/// More than the queue holds.
const SPANS: usize = 20_000;

#[test]
fn unreachable_or_hanging_collector_does_not_block() {
    // Accepts connections, but never reads or responds.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let hangs = format!("http://{}", listener.local_addr().unwrap());
    for collector in ["http://127.0.0.1:9", &hangs] {
        let traces = Traces::new(Otlp::to(collector)).unwrap();
        let subscriber = tracing_subscriber::registry().with(traces.layer());
        let (done, is_done) = std::sync::mpsc::channel();
        thread::spawn(move || {
            tracing::subscriber::with_default(subscriber, || {
                for _ in 0..SPANS {
                    tracing::info_span!("work").in_scope(|| tracing::info!("at it"));
                }
            });
            traces.shut_down(Duration::from_millis(200));
            done.send(()).unwrap();
        });
        // Less than one timeout of the exporter.
        is_done.recv_timeout(Duration::from_secs(8)).unwrap();
    }
    drop(listener);
}

#[test]
fn invalid_configuration_is_rejected() {
    for part in [-0.1, 1.1, f64::NAN] {
        let rejected = Traces::new(Otlp::to("http://127.0.0.1:9").with_sample_ratio(part));
        assert!(matches!(rejected, Err(InitError::SampleRatio(_))), "{part}");
    }
    assert!(Traces::new(Otlp::to("no address")).is_err());
}
