//! The audit log. Needs a separate process, as the log is global.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "server/fixture.rs"]
#[allow(dead_code, reason = "shared with tests that need all of it")]
mod fixture;

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a_kit::v1::ListTasksRequest;
use a2a_kit_auth::server::Throttle;

use fixture::{WAYS, client, everything, start};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

//
//
#[tokio::test]
async fn security_events_are_logged_without_secrets() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // Everything below runs on this thread.
    let _guard = tracing::subscriber::set_default(subscriber);
    let (card, guard) = everything();
    let pauses = (Duration::from_secs(600), Duration::from_secs(600));
    let guard = guard
        .with_throttle(
            Throttle::default().with_failures_allowed(1).with_backoff(pauses.0, pauses.1),
        )
        .with_tenants(|_, tenant| tenant.is_empty());
    let address = start(card, guard).await;
    let ann = client(address, WAYS[0], &[("x-api-key", "k-ann")]).await;
    for _ in 0..3 {
        ann.send_text("hi").await.unwrap();
    }
    let elsewhere = ListTasksRequest { tenant: "acme".into(), ..ListTasksRequest::default() };
    ann.list_page(elsewhere).await.unwrap_err();
    for way in [WAYS[0], WAYS[2]] {
        let guess = client(address, way, &[("authorization", "Bearer planted-secret")]).await;
        guess.send_text("hi").await.unwrap_err();
    }
    let text = log.text();
    let lines: Vec<_> = text.lines().filter(|line| line.contains("a2a::audit")).collect();
    let with = |event: &str| {
        let event = format!("event=\"{event}\"");
        lines.iter().filter(|line| line.contains(&event)).copied().collect::<Vec<_>>()
    };
    let [succeeded] = with("authentication_succeeded")[..] else { panic!("{lines:#?}") };
    assert!(
        succeeded.contains("subject=\"ann\"") && succeeded.contains("127.0.0.1"),
        "{succeeded}"
    );
    let [denied] = with("denied")[..] else { panic!("{lines:#?}") };
    assert!(
        denied.contains("operation=\"ListTasks\"") && denied.contains("subject=\"ann\""),
        "{denied}"
    );
    let [over_json, over_grpc] = with("authentication_failed")[..] else { panic!("{lines:#?}") };
    for failed in [over_json, over_grpc] {
        assert!(failed.contains("reason=\"unknown secret\""), "{failed}");
        assert!(failed.contains("address=127.0.0.1"), "{failed}");
        assert!(failed.contains("operation=\"SendMessage\""), "{failed}");
    }
    let [throttled] = with("throttled")[..] else { panic!("{lines:#?}") };
    assert!(throttled.contains("address=127.0.0.1"), "{throttled}");
    for secret in ["planted-secret", "k-ann"] {
        assert!(!text.contains(secret), "{secret} is in the log");
    }
}
