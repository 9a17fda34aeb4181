//! Programs as agents of a Rust application.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::time::Duration;

use a2a_core::{
    Message,
    v1::{SendMessageConfiguration, SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_exec::{CheckError, Exec};
use a2a_kit_operations::{Agent as _, Call, Engine};

fn call(text: &str, return_immediately: bool) -> Call<SendMessageRequest> {
    Call::new(SendMessageRequest {
        message: Some(Message::user(text)),
        configuration: Some(SendMessageConfiguration {
            return_immediately,
            ..SendMessageConfiguration::default()
        }),
        ..SendMessageRequest::default()
    })
}

#[tokio::test]
async fn program_is_an_agent_of_a_rust_application() {
    let program = Exec::new("sh").args(["-c", "cat; printf ' %s' \"$GREETING\""]);
    let program = program.env("GREETING", "ahoy");
    program.check().unwrap();
    let card = program.card("Greeter", "Greets");
    assert!(card.can_stream() && !format!("{card:?}{program:?}").contains("ahoy"));
    let engine = Engine::new(card, program);
    let answer = engine.send_message(call("hello", false)).await.unwrap();
    let Some(Payload::Task(task)) = answer.response.payload else { unreachable!() };
    assert_eq!(task.artifacts[0].text(), "hello ahoy");
    let missing = Exec::new("no such program").check();
    assert!(matches!(missing, Err(CheckError::NotFound(name)) if name == "no such program"));
}

#[tokio::test]
async fn program_has_ended_once_its_executor_has_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let script = format!(
        "trap 'echo > {place}/ended; exit' TERM; echo > {place}/begun; while :; do sleep 0.01; done"
    );
    let program = Exec::shell(script);
    let engine = Engine::new(program.card("Worker", "Works"), program.clone());
    engine.send_message(call("begin", true)).await.unwrap();
    while !folder.path().join("begun").exists() {
        tokio::task::yield_now().await;
    }
    engine.shutdown(Duration::ZERO).await;
    program.stopped().await;
    assert!(folder.path().join("ended").exists());
}
