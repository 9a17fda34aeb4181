//! Cases that the servers of both JSON bindings answer alike, as each binding frames it.

use std::time::Duration;

use a2a_core::{Error, ErrorKind, TaskState};
use a2a_kit_operations::{Caller, EventId};
use axum::{Extension, Router};

use super::{Connection, Fake, Got, Seen, artifact, opening, serve, status, task};

const HEADERS: [&str; 2] = ["a2a-version: 1.0", "content-type: application/json"];

/// A server, and a request to it: the method with the path, and the body.
pub struct Endpoint<'a> {
    pub router: fn(Fake) -> Router,
    pub request: &'a str,
    pub body: &'a str,
}

impl Endpoint<'_> {
    /// The answer of a server of this agent to the request.
    pub async fn answer(&self, fake: Fake) -> Got {
        let mut connection = Connection::open(&serve((self.router)(fake)).await).await;
        connection.ask(self.request, &HEADERS, self.body).await
    }

    /// The answers with the error of each kind, as text.
    pub async fn errors_of_all_kinds(&self) -> String {
        let mut shown = String::new();
        for kind in ErrorKind::ALL {
            let fake = Fake::new().refusing(move || {
                Error::new(kind, "the reason")
                    .with_metadata("taskId", "t-1")
                    .with_source(std::io::Error::other("secret"))
            });
            let got = self.answer(fake).await;
            assert!(!got.body.contains("secret"), "{kind:?}");
            shown.push_str(&format!("== {kind:?}\n{}\n", got.shown()));
        }
        shown
    }

    /// The body of a stream of four events.
    pub async fn stream_of_events(&self) -> String {
        let got = self.answer(Fake::new().streaming(|| {
            vec![
                Ok(opening(task("t-1"))),
                Ok(status(TaskState::Working)),
                Ok(artifact("line\nbreak")),
                Ok(status(TaskState::Completed)),
            ]
        }));
        let got = got.await;
        assert_eq!((got.status, got.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!(got.header("cache-control"), Some("no-cache"));
        assert_eq!(got.header("x-accel-buffering"), Some("no"));
        got.body
    }

    /// The body of a stream that fails after its first event.
    pub async fn failed_stream(&self) -> String {
        let got = self.answer(Fake::new().streaming(|| {
            vec![
                Ok(status(TaskState::Working)),
                Err(Error::internal("secret")),
                Ok(artifact("late")),
            ]
        }));
        super::hide_error_id(&got.await.body)
    }

    /// Checks the service parameters of a subscription, and returns what the agent saw.
    pub async fn service_parameters_reach_the_agent(&self) -> Seen {
        let fake = Fake::new();
        let caller = Extension(Caller::authenticated("alice"));
        let router = (self.router)(fake.clone()).layer(caller);
        let headers = [
            "A2A-Version: 1.0",
            "content-type: application/a2a+json; charset=utf-8",
            "A2a-Extensions: urn:a,urn:b",
            "x-a2a-extensions: urn:c",
            "last-event-id: 41",
            "idempotency-key: k",
            "a2a-budget: 7",
            "cookie: no",
        ];
        let mut connection = Connection::open(&serve(router).await).await;
        let got = connection.ask(self.request, &headers, self.body).await;
        assert_eq!(got.header("a2a-extensions"), Some("urn:a,urn:b,urn:c"));
        let seen = fake.last().unwrap();
        assert_eq!(seen.context.caller.subject(), Some("alice"));
        assert_eq!(seen.context.last_event_id, EventId::new(41));
        assert_eq!(seen.context.idempotency_key.as_deref(), Some("k"));
        assert_eq!(seen.context.parameters.len(), 1);
        seen
    }

    pub async fn errors_have_challenge_and_retry_after(&self) {
        let busy = Fake::new().refusing(|| {
            Error::new(ErrorKind::ResourceExhausted, "too many")
                .with_retry_after(Duration::from_secs(9))
        });
        let got = self.answer(busy).await;
        assert_eq!((got.status, got.header("retry-after")), (429, Some("9")));

        let closed = Fake::new().refusing(|| {
            Error::new(ErrorKind::Unauthenticated, "who are you")
                .with_challenge("Bearer realm=\"x\"")
        });
        let got = self.answer(closed).await;
        let found = (got.status, got.header("www-authenticate"));
        assert_eq!(found, (401, Some("Bearer realm=\"x\"")));
    }
}
