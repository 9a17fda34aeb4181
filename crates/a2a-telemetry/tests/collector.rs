//! Collectors that are not there, or take and never answer.
#![allow(clippy::unwrap_used, reason = "scenery that can't be set up fails the test")]

use std::{net::TcpListener, thread, time::Duration};

use a2a_telemetry::{Otlp, OtlpError, Traces};
use tracing_subscriber::layer::SubscriberExt as _;

/// More than can wait.
const SPANS: usize = 20_000;

#[test]
fn a_collector_that_is_away_or_hangs_keeps_nobody_waiting() {
    // It is listened there, and nobody ever reads or answers.
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
        // Less than one timeout of the exporter would be.
        is_done.recv_timeout(Duration::from_secs(8)).unwrap();
    }
    drop(listener);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for part in [-0.1, 1.1, f64::NAN] {
        let refused = Traces::new(Otlp::to("http://127.0.0.1:9").with_sample(part));
        assert!(matches!(refused, Err(OtlpError::Sample(_))), "{part}");
    }
    assert!(Traces::new(Otlp::to("no address")).is_err());
}
