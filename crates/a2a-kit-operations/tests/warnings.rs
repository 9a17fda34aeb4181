//! Warnings in the log about executors.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use a2a_core::{
    AgentCard, Message,
    v1::{SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater,
};
use tracing::{
    Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Collects the texts of warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// Does what the message says, and returns.
struct Brief;

impl AgentExecutor for Brief {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        match context.text().as_str() {
            "work" => updates.start().await?,
            "ask" => updates.require_input("what next?").await?,
            "authorize" => updates.require_auth("who?").await?,
            "complete" => updates.complete("done").await?,
            "reply" => updates.reply("hello").await?,
            "nothing" => {}
            other => panic!("no such word: {other}"),
        }
        Ok(())
    }
}

#[tokio::test]
async fn executor_that_returns_without_an_end_leaves_one_warning() {
    let warning = "executor returned without ending the task";
    for (text, expected) in
        [("work", 1), ("nothing", 1), ("ask", 0), ("authorize", 0), ("complete", 0), ("reply", 0)]
    {
        let warnings = Warnings::default();
        let guard = tracing::subscriber::set_default(warnings.clone());
        let engine = Engine::new(AgentCard::new("Brief", "Is brief"), Brief);
        let message = Some(Message::user(text));
        let request = SendMessageRequest { message, ..SendMessageRequest::default() };
        let sent = engine.send_message(Call::new(request)).await.expect("an answer");
        assert!(matches!(sent.response.payload, Some(Payload::Task(_) | Payload::Message(_))));
        drop(guard);
        let warnings = warnings.0.lock().unwrap();
        let count = warnings.iter().filter(|text| *text == warning).count();
        assert_eq!(count, expected, "{text}: {warnings:?}");
    }
}
