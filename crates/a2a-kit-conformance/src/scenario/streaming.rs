//! Streams of messages.

use serde_json::json;
use uuid::Uuid;

use crate::{
    exchange::text,
    recorder::{Learned, NO_ASKING, NO_TASK, Recorder, send},
    step::Step,
    wire::Call,
};

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &mut Learned) {
    let prompts = recorder.prompts.clone();
    let text_of_stream = prompts.stream.as_ref().unwrap_or(&prompts.hello);
    let stream = |text: &str, members| Call::new("SendStreamingMessage", send(text, members));
    let streamed = recorder.step(Step::Stream, stream(text_of_stream, json!({}))).await;
    if !recorder.evidence.facts.streaming {
        let reason = "the card does not declare streaming";
        for step in [
            Step::GetTaskAfterStream,
            Step::StreamAsking,
            Step::StreamMessageAnswer,
            Step::StreamUnknownTask,
            Step::StreamToTerminal,
        ] {
            recorder.missing(step, reason);
        }
        return;
    }
    let id = streamed.as_ref().and_then(|exchange| {
        let first = exchange.stream()?.events.first()?;
        Some(text(first.value.get("task")?, "id").to_owned())
    });
    match id {
        Some(id) => {
            let call = Call::new("GetTask", json!({ "id": id }));
            recorder.step(Step::GetTaskAfterStream, call).await;
        }
        None => recorder.missing(Step::GetTaskAfterStream, "the stream did not start with a task"),
    }
    let unknown = json!({ "taskId": Uuid::new_v4().to_string() });
    recorder.step(Step::StreamUnknownTask, stream(&prompts.hello, unknown)).await;
    match &learned.ended {
        Some((id, _)) => {
            let call = stream(&prompts.hello, json!({ "taskId": id }));
            recorder.step(Step::StreamToTerminal, call).await;
        }
        None => recorder.missing(Step::StreamToTerminal, NO_TASK),
    }
    match &learned.asking {
        Some(prompt) => {
            recorder.step(Step::StreamAsking, stream(prompt, json!({}))).await;
        }
        None => recorder.missing(Step::StreamAsking, NO_ASKING),
    }
    match &prompts.message {
        Some(prompt) => {
            recorder.step(Step::StreamMessageAnswer, stream(prompt, json!({}))).await;
        }
        None => recorder
            .missing(Step::StreamMessageAnswer, "no text for it was given with --prompt-for"),
    }
}
