//! Streams of messages.

use serde_json::json;
use uuid::Uuid;

use crate::{
    exchange::text,
    recorder::{Learned, NO_ASKING, NO_TASK, NO_TEXT, Recorder, send},
    step::Step,
    wire::Call,
};

pub(super) async fn run(recorder: &mut Recorder<'_>, learned: &mut Learned) {
    let prompts = recorder.prompts.clone();
    let text_of_stream = prompts.stream.as_ref().unwrap_or(&prompts.hello);
    let stream = |text: &str, members| Call::new("SendStreamingMessage", send(text, members));
    let streamed = recorder.step(Step::Stream, stream(text_of_stream, json!({}))).await;
    if !recorder.evidence.facts.streaming {
        let steps = [
            Step::GetTaskAfterStream,
            Step::StreamAsking,
            Step::StreamMessageAnswer,
            Step::StreamUnknownTask,
            Step::StreamToTerminal,
        ];
        return recorder.missing(&steps, "the card does not declare streaming");
    }
    let id = streamed.as_ref().and_then(|exchange| {
        let first = exchange.stream()?.events.first()?;
        Some(text(first.value.get("task")?, "id").to_owned())
    });
    let get = id.map(|id| Call::new("GetTask", json!({ "id": id })));
    recorder.step_if(Step::GetTaskAfterStream, get, "the stream did not start with a task").await;
    let unknown = json!({ "taskId": Uuid::new_v4().to_string() });
    recorder.step(Step::StreamUnknownTask, stream(&prompts.hello, unknown)).await;
    let ended = learned.ended.as_ref();
    let ended = ended.map(|(id, _)| stream(&prompts.hello, json!({ "taskId": id })));
    recorder.step_if(Step::StreamToTerminal, ended, NO_TASK).await;
    let asking = learned.asking.as_ref().map(|prompt| stream(prompt, json!({})));
    recorder.step_if(Step::StreamAsking, asking, NO_ASKING).await;
    let message = prompts.message.as_ref().map(|prompt| stream(prompt, json!({})));
    recorder.step_if(Step::StreamMessageAnswer, message, NO_TEXT).await;
}
