//! The wire of OpenAI's responses. Nothing is kept at the provider.

use http::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    body::{Object, arguments_as_text, list, object},
    failure::{self, malformed},
    kind::Wire,
    openai_chat::OpenAiUsage,
    output::{Decoder, Output, PartialCall, other_stop},
    part::{Accepted, Input, inputs},
};
use crate::{
    ModelError,
    model::{Answer, ChatRequest, StopReason, Turn, Usage},
};

pub(super) static WIRE: Wire = Wire {
    path: "/responses",
    models_path: "/models",
    key: (AUTHORIZATION, "Bearer "),
    version: None,
    reserved: &["input", "instructions", "messages", "model", "stream", "tools"],
    // Some events repeat the whole request or the whole answer.
    max_event: 4 << 20,
    accepted: |_| ACCEPTED,
    body,
    decoder: || Box::new(Events::default()),
};

const ACCEPTED: Accepted = Accepted { pdf: true, audio: false, image_url: true };

fn body(model: &str, request: &ChatRequest, _: bool) -> Result<Object, ModelError> {
    let mut items = Vec::new();
    for turn in &request.turns {
        match turn {
            Turn::User(parts) => {
                let content: Value = inputs(parts, ACCEPTED)?.iter().map(part).collect();
                items.push(json!({"type": "message", "role": "user", "content": content}));
            }
            Turn::Assistant(answers) => items.extend(answers.iter().map(item)),
            Turn::ToolResults(outcomes) => items.extend(outcomes.iter().map(|outcome| {
                json!({
                    "type": "function_call_output", "call_id": outcome.id,
                    "output": outcome.content,
                })
            })),
        }
    }
    let reasoning =
        request.reasoning.map(|reasoning| json!({"effort": reasoning.name(), "summary": "auto"}));
    Ok(object(json!({
        "model": model,
        "input": items,
        "stream": true,
        "store": false,
        "instructions": request.instructions,
        "tools": list(&request.tools, |tool| json!({
            "type": "function", "name": tool.name, "description": tool.description,
            "parameters": tool.schema, "strict": false,
        })),
        "temperature": request.temperature,
        "max_output_tokens": request.max_output_tokens,
        // Models that don't reason reject it.
        "include": reasoning.is_some().then_some(["reasoning.encrypted_content"]),
        "reasoning": reasoning,
    })))
}

fn item(answer: &Answer) -> Value {
    match answer {
        Answer::Text(text) => json!({"type": "message", "role": "assistant", "content": text}),
        Answer::ToolCall(call) => json!({
            "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": arguments_as_text(call),
        }),
        Answer::Opaque(item) => item.clone(),
    }
}

fn part(input: &Input<'_>) -> Value {
    let image = |url: &str| json!({"type": "input_image", "image_url": url, "detail": "auto"});
    match input {
        Input::Text(text) => json!({"type": "input_text", "text": text}),
        Input::Image { media_type, base64 } => image(&format!("data:{media_type};base64,{base64}")),
        Input::ImageUrl(url) => image(url),
        Input::Pdf { name, base64 } => {
            let data = format!("data:application/pdf;base64,{base64}");
            json!({"type": "input_file", "filename": name, "file_data": data})
        }
        // Refused before: see `Accepted`.
        Input::Audio { .. } => Value::Null,
    }
}

/// Decodes the events of an answer.
#[derive(Debug, Default)]
struct Events {
    has_refusal: bool,
}

/// An event of any type, of which later versions may add some.
#[derive(Deserialize)]
struct Event {
    r#type: String,
    delta: Option<Value>,
    item: Option<Value>,
    response: Option<Response>,
}

#[derive(Default, Deserialize)]
struct Response {
    id: Option<String>,
    model: Option<String>,
    usage: Option<OpenAiUsage>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

impl Decoder for Events {
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError> {
        let event: Event = serde_json::from_slice(data).map_err(malformed)?;
        let response = event.response.unwrap_or_default();
        let delta = || match event.delta {
            Some(Value::String(delta)) => delta,
            _ => String::new(),
        };
        match &*event.r#type {
            "response.created" | "response.in_progress" => {
                output.start(response.id.as_deref(), response.model.as_deref());
            }
            "response.output_text.delta" => output.text(delta()),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                output.thinking(delta());
            }
            "response.refusal.delta" => self.has_refusal = true,
            "response.output_item.done" => read_item(event.item.unwrap_or_default(), output)?,
            "response.completed" | "response.incomplete" => {
                let reason = response.incomplete_details.and_then(|details| details.reason);
                let stop = match reason.as_deref() {
                    _ if self.has_refusal => StopReason::Filter,
                    Some("max_output_tokens") => StopReason::Length,
                    Some("content_filter") => StopReason::Filter,
                    Some(reason) => other_stop(reason),
                    None => StopReason::End,
                };
                output.finish(response.usage.map(Usage::from), Some(stop));
            }
            "response.failed" => {
                return Err(failure::of_body(None, &response.error.unwrap_or_default()));
            }
            "error" => {
                let error: Value = serde_json::from_slice(data).map_err(malformed)?;
                return Err(failure::of_body(None, &error));
            }
            // Snapshots of what has come before, and events of later versions.
            _ => {}
        }
        Ok(())
    }
}

/// Reads a whole item; text has come before, in pieces.
fn read_item(item: Value, output: &mut Output) -> Result<(), ModelError> {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    match text("type") {
        "function_call" => {
            let mut call = PartialCall::new(text("call_id"), text("name"));
            call.push(text("arguments"))?;
            output.call(call);
        }
        // Without either of them the provider looks for the item, which it has not kept.
        "reasoning" if item["encrypted_content"].is_string() || !item["content"].is_null() => {
            output.opaque(item);
        }
        _ => {}
    }
    Ok(())
}
