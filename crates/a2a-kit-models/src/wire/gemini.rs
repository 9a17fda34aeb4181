//! The wire of Gemini's generated content.

use std::mem;

use http::HeaderName;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    body::{Messages, Object, arguments_as_object, list, object},
    failure::{self, malformed},
    kind::{MAX_EVENT, Wire},
    output::{Decoder, Output, PartialCall, other_stop},
    part::{Accepted, Input, inputs},
};
use crate::{
    ModelError,
    model::{Answer, ChatRequest, ModelErrorKind, StopReason, ToolOutcome, Turn, Usage},
};

pub(super) static WIRE: Wire = Wire {
    path: "/models/{model}:streamGenerateContent?alt=sse",
    models_path: "/models?pageSize=1000",
    key: (HeaderName::from_static("x-goog-api-key"), ""),
    version: None,
    reserved: &["contents", "messages", "model", "stream", "systemInstruction", "tools"],
    max_event: MAX_EVENT,
    accepted: |_| ACCEPTED,
    body,
    decoder: || Box::new(Chunks::default()),
};

const ACCEPTED: Accepted = Accepted { pdf: true, audio: true, image_url: false };

fn body(_model: &str, request: &ChatRequest, _: bool) -> Result<Object, ModelError> {
    let mut contents = Messages::default();
    for turn in &request.turns {
        match turn {
            Turn::User(parts) => {
                contents.push("user", inputs(parts, ACCEPTED)?.iter().map(part).collect());
            }
            Turn::Assistant(answers) => contents.push("model", parts(answers)),
            Turn::ToolResults(outcomes) => {
                contents.push("user", outcomes.iter().map(function_response).collect());
            }
        }
    }
    let instructions = request.instructions.as_ref().filter(|text| !text.is_empty());
    let functions = list(&request.tools, |tool| {
        json!({
            "name": tool.name, "description": tool.description,
            "parametersJsonSchema": tool.schema,
        })
    });
    let thinking = request.reasoning.map(|reasoning| {
        let level = reasoning.name().to_ascii_uppercase();
        json!({"includeThoughts": true, "thinkingLevel": level})
    });
    let config = object(json!({
        "temperature": request.temperature,
        "maxOutputTokens": request.max_output_tokens,
        "thinkingConfig": thinking,
    }));
    Ok(object(json!({
        "contents": contents.write("parts"),
        "systemInstruction": instructions.map(|text| json!({"parts": [{"text": text}]})),
        "tools": functions.map(|functions| json!([{"functionDeclarations": functions}])),
        "generationConfig": (!config.is_empty()).then_some(config),
    })))
}

fn part(input: &Input<'_>) -> Value {
    let data = |media_type: &str, base64: &str| json!({"inlineData": {"mimeType": media_type, "data": base64}});
    match input {
        Input::Text(text) => json!({"text": text}),
        Input::Image { media_type, base64 } => data(media_type, base64),
        Input::Pdf { base64, .. } => data("application/pdf", base64),
        Input::Audio { format, base64 } => data(&format!("audio/{format}"), base64),
        // Refused before: see `Accepted`.
        Input::ImageUrl(_) => Value::Null,
    }
}

fn function_response(outcome: &ToolOutcome) -> Value {
    let member = if outcome.is_error { "error" } else { "output" };
    json!({"functionResponse": {
        "id": outcome.id, "name": outcome.name, "response": {(member): outcome.content},
    }})
}

/// Writes what the model answered. A signature goes back with the part that it came with, and that
/// part is not joined with others: see [`read_part`].
fn parts(answers: &[Answer]) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut signature = Value::Null;
    let mut signed_text = "";
    for answer in answers {
        match answer {
            Answer::Opaque(part) if part.get("text").is_some() => {
                signed_text = match part["thought"] {
                    Value::Bool(true) => "",
                    _ => part["text"].as_str().unwrap_or_default(),
                };
                parts.push(part.clone());
            }
            Answer::Opaque(part) => signature = part["thoughtSignature"].clone(),
            Answer::Text(text) => {
                let text = text.strip_prefix(mem::take(&mut signed_text)).unwrap_or(text);
                if !text.is_empty() {
                    parts.push(json!({"text": text}));
                }
            }
            Answer::ToolCall(call) => parts.push(Value::Object(object(json!({
                "functionCall": {
                    "id": call.id, "name": call.name, "args": arguments_as_object(call),
                },
                "thoughtSignature": signature.take(),
            })))),
        }
    }
    parts
}

/// Decodes the chunks of an answer.
#[derive(Debug, Default)]
struct Chunks {
    usage: Option<ChunkUsage>,
    stop: Option<StopReason>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    response_id: Option<String>,
    model_version: Option<String>,
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<ChunkUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Vec<ContentPart>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentPart {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    args: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ChunkUsage {
    prompt_token_count: u64,
    cached_content_token_count: Option<u64>,
    candidates_token_count: u64,
    thoughts_token_count: Option<u64>,
}

impl Decoder for Chunks {
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError> {
        let chunk: Chunk = serde_json::from_slice(data).map_err(malformed)?;
        if let Some(error) = &chunk.error {
            return Err(failure::of_body(None, error));
        }
        output.start(chunk.response_id.as_deref(), chunk.model_version.as_deref());
        self.usage = chunk.usage_metadata.or(self.usage.take());
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.stop = Some(StopReason::Filter);
        }
        // More than one candidate is never asked for.
        let Some(candidate) = chunk.candidates.into_iter().flatten().next() else { return Ok(()) };
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            read_part(part, output)?;
        }
        if let Some(reason) = candidate.finish_reason {
            self.stop = Some(stop(&reason));
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output) -> Result<(), ModelError> {
        let stop = self.stop.take().ok_or(ModelError::new(ModelErrorKind::Cut))?;
        // Calls are whole, whatever the reason says.
        let stop = (!output.has_calls()).then_some(stop);
        output.finish(self.usage.take().map(Usage::from), stop);
        Ok(())
    }
}

/// Reads a part. A signed text is an opaque part, too, ahead of the same text for the reader; the
/// signature of a call is an opaque part ahead of the call.
fn read_part(part: ContentPart, output: &mut Output) -> Result<(), ModelError> {
    let signature = part.thought_signature;
    if let Some(call) = part.function_call {
        if let Some(signature) = signature {
            output.opaque(json!({"thoughtSignature": signature}));
        }
        let mut partial = PartialCall::new(&call.id, &call.name);
        partial.push(&call.args.unwrap_or_else(|| json!({})).to_string())?;
        output.call(partial);
        return Ok(());
    }
    let Some(text) = part.text else { return Ok(()) };
    if let Some(signature) = signature {
        output.opaque(Value::Object(object(json!({
            "text": text, "thought": part.thought, "thoughtSignature": signature,
        }))));
    }
    if part.thought == Some(true) {
        output.thinking(text);
    } else {
        output.text(text);
    }
    Ok(())
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::End,
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => StopReason::Filter,
        reason => other_stop(reason),
    }
}

impl From<ChunkUsage> for Usage {
    fn from(usage: ChunkUsage) -> Self {
        let thoughts = usage.thoughts_token_count.unwrap_or_default();
        Self {
            input: usage.prompt_token_count,
            cached_input: usage.cached_content_token_count,
            cache_write: None,
            output: usage.candidates_token_count.saturating_add(thoughts),
            reasoning: usage.thoughts_token_count,
            cost: None,
        }
    }
}
