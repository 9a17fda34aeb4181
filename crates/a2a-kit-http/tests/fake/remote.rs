//! Cases that the clients of both JSON bindings read alike.

use std::time::Duration;

use a2a_core::{
    Error, ErrorKind, Message, Result, TaskState,
    v1::{GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_kit_operations::{Agent, Call, CallContext, Event, EventId, EventStream};
use axum::Router;
use futures_util::StreamExt as _;

use super::{Canned, Fake, every_operation_arrives_as_it_was_sent, json, serve, sse};

pub const WORKING: &str =
    r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}"#;
pub const DONE: &str =
    r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// A binding, as its client sees it.
pub struct Remote {
    /// Creates a client of a URL.
    pub connect: fn(&str) -> Box<dyn Agent>,
    /// Serves an agent.
    pub router: fn(Fake) -> Router,
    /// The response with a result.
    pub result: fn(&str) -> String,
    /// The error `no such task` for a task that does not exist.
    pub not_found: &'static str,
}

pub fn get_task() -> Call<GetTaskRequest> {
    Call::new(GetTaskRequest { id: "t".into(), ..Default::default() })
}

pub fn subscribe() -> Call<SubscribeToTaskRequest> {
    Call::new(SubscribeToTaskRequest { id: "t".into(), ..Default::default() })
}

pub fn send() -> Call<SendMessageRequest> {
    let message = Message { message_id: "m".into(), ..Message::user("hi") };
    Call::new(SendMessageRequest { message: Some(message), ..Default::default() })
}

pub async fn collect(stream: EventStream) -> Vec<Result<Event>> {
    stream.collect().await
}

impl Remote {
    /// A client of a server that sends these answers.
    pub async fn client(
        &self,
        answers: impl IntoIterator<Item = String>,
    ) -> (Box<dyn Agent>, Canned) {
        let server = Canned::serve(answers).await;
        ((self.connect)(&server.url), server)
    }

    async fn client_of(&self, fake: Fake) -> Box<dyn Agent> {
        (self.connect)(&format!("http://{}/", serve((self.router)(fake)).await))
    }

    pub async fn operations_arrive_unchanged(&self) {
        let fake = Fake::new();
        let client = self.client_of(fake.clone()).await;
        every_operation_arrives_as_it_was_sent(&*client, &fake).await;
    }

    pub async fn error_kinds_round_trip(&self) {
        for kind in ErrorKind::ALL {
            let fake = Fake::new().refusing(move || {
                Error::new(kind, "the reason")
                    .with_metadata("taskId", "t")
                    .with_retry_after(Duration::from_secs(7))
                    .with_challenge("Bearer realm=\"x\"")
            });
            let client = self.client_of(fake).await;
            for error in [
                client.get_task(get_task()).await.unwrap_err(),
                client.subscribe_to_task(subscribe()).await.unwrap_err(),
            ] {
                assert_eq!((error.kind(), error.message()), (kind, "the reason"));
                assert_eq!(error.metadata()["taskId"], "t", "{kind:?}");
                assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{kind:?}");
                assert_eq!(error.challenge(), Some("Bearer realm=\"x\""), "{kind:?}");
            }
        }
    }

    /// The errors of these answers to the request of a task.
    pub async fn errors_have_kinds(&self, answers: &[(String, ErrorKind)]) {
        for (answer, kind) in answers {
            let (client, _server) = self.client([answer.clone()]).await;
            let error = client.get_task(get_task()).await.unwrap_err();
            assert_eq!(error.kind(), *kind, "{answer}");
        }
    }

    pub async fn rejected_stream_is_an_error_of_the_operation(&self) {
        let not_found = self.not_found;
        for answer in [
            json(200, not_found),
            json(404, not_found),
            sse(&format!("data: {not_found}\n\n")),
            sse(&format!(": ping\n\nevent: error\ndata: {not_found}\n\n")),
            sse(&format!("data:{not_found}\r\n\r\n")),
        ] {
            let (client, _server) = self.client([answer.clone()]).await;
            let error = client.subscribe_to_task(subscribe()).await.unwrap_err();
            let found = (error.kind(), error.message());
            assert_eq!(found, (ErrorKind::TaskNotFound, "no such task"), "{answer}");
        }
    }

    pub async fn events_have_ids(&self) {
        let (working, done) = ((self.result)(WORKING), (self.result)(DONE));
        let body =
            format!("id: 4\ndata: {working}\n\n: ping\n\nid: b7\nevent: message\ndata: {done}\n\n");
        let (client, mut server) = self.client([sse(&body)]).await;
        let mut context = CallContext::default();
        context.last_event_id = EventId::new(3);
        let call = Call::from_parts(context, subscribe().request);
        let events = collect(client.subscribe_to_task(call).await.unwrap().response).await;
        let seen: Vec<_> = events
            .iter()
            .map(|event| event.as_ref().unwrap())
            .map(|e| (e.id(), e.state()))
            .collect();
        assert_eq!(
            seen,
            [(EventId::new(4), Some(TaskState::Working)), (None, Some(TaskState::Completed))]
        );
        let (head, _) = server.request().await;
        assert!(head.contains("\r\nlast-event-id: 3\r\n"), "{head}");
        assert!(head.contains("\r\naccept: text/event-stream, application/json\r\n"), "{head}");
    }

    /// Interrupts a stream before its task has settled: between events, within one, by errors, and
    /// by what else a binding rejects.
    pub async fn interrupted_stream_ends_with_an_error(&self, more: &[String]) {
        let not_found = self.not_found;
        let invalid = more.iter().cloned().map(|rest| (rest, ErrorKind::InvalidAgentResponse));
        let errors = [
            (String::new(), ErrorKind::Unavailable),
            ("data: {\"jsonrpc\"".to_owned(), ErrorKind::Unavailable),
            (format!("event: error\ndata: {not_found}\n\n"), ErrorKind::TaskNotFound),
            (format!("data: {not_found}\n\n"), ErrorKind::TaskNotFound),
            ("event: error\ndata: out of coffee\n\n".to_owned(), ErrorKind::Internal),
            ("data: {\"error\":\"out of coffee\"}\n\n".to_owned(), ErrorKind::Internal),
            ("data: what\n\n".to_owned(), ErrorKind::InvalidAgentResponse),
        ];
        let working = (self.result)(WORKING);
        for (rest, kind) in errors.into_iter().chain(invalid) {
            let (client, _server) = self.client([sse(&format!("data: {working}\n\n{rest}"))]).await;
            let stream = client.subscribe_to_task(subscribe()).await.unwrap().response;
            let events = collect(stream).await;
            assert_eq!(events.len(), 2, "{rest}");
            assert!(events[0].is_ok(), "{rest}");
            assert_eq!(events[1].as_ref().unwrap_err().kind(), kind, "{rest}");
        }
    }
}
