//! The wire of chat completions: OpenAI's, and those of compatible servers.

use http::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    body::{Object, arguments_as_text, list, object},
    failure::{self, malformed},
    kind::{MAX_EVENT, Wire},
    output::{Decoder, Output, PartialCall, other_stop},
    part::{Accepted, Input, inputs, only_text},
};
use crate::{
    ModelError,
    bounds::MAX_CALLS,
    model::{Answer, ChatRequest, ModelErrorKind, Reasoning, StopReason, Turn, Usage},
};

pub(super) static WIRE: Wire = Wire {
    path: "/chat/completions",
    models_path: "/models",
    key: (AUTHORIZATION, "Bearer "),
    version: None,
    reserved: &["messages", "model", "stream", "tools"],
    max_event: MAX_EVENT,
    accepted,
    body,
    decoder: || Box::new(Chunks::default()),
};

/// Compatible servers read neither documents nor sound.
fn accepted(is_openai: bool) -> Accepted {
    Accepted { pdf: is_openai, audio: is_openai, image_url: true }
}

fn body(model: &str, request: &ChatRequest, is_openai: bool) -> Result<Object, ModelError> {
    let mut messages = Vec::new();
    if let Some(instructions) = &request.instructions {
        messages.push(json!({"role": "system", "content": instructions}));
    }
    for turn in &request.turns {
        match turn {
            Turn::User(parts) => {
                let inputs = inputs(parts, accepted(is_openai))?;
                // Not every compatible server reads text in an array.
                let content = match only_text(&inputs) {
                    Some(text) => text.into(),
                    None => inputs.iter().map(part).collect::<Value>(),
                };
                messages.push(json!({"role": "user", "content": content}));
            }
            Turn::Assistant(answers) => messages.push(assistant(answers)),
            Turn::ToolResults(outcomes) => messages.extend(outcomes.iter().map(|outcome| {
                json!({"role": "tool", "tool_call_id": outcome.id, "content": outcome.content})
            })),
        }
    }
    // Compatible servers may reject the newer name.
    let limit = if is_openai { "max_completion_tokens" } else { "max_tokens" };
    Ok(object(json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": list(&request.tools, |tool| json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.schema,
        }})),
        "temperature": request.temperature,
        (limit): request.max_output_tokens,
        "reasoning_effort": request.reasoning.map(Reasoning::name),
    })))
}

/// Writes what the model answered. Opaque parts are of other wires.
fn assistant(answers: &[Answer]) -> Value {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for answer in answers {
        match answer {
            Answer::Text(text) => texts.push(&**text),
            Answer::ToolCall(call) => {
                calls.push(json!({"id": call.id, "type": "function", "function": {
                    "name": call.name, "arguments": arguments_as_text(call),
                }}));
            }
            Answer::Opaque(_) => {}
        }
    }
    let content =
        if texts.is_empty() && !calls.is_empty() { Value::Null } else { texts.join("\n\n").into() };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn part(input: &Input<'_>) -> Value {
    match input {
        Input::Text(text) => json!({"type": "text", "text": text}),
        Input::Image { media_type, base64 } => {
            let url = format!("data:{media_type};base64,{base64}");
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        Input::ImageUrl(url) => json!({"type": "image_url", "image_url": {"url": url}}),
        Input::Pdf { name, base64 } => {
            let data = format!("data:application/pdf;base64,{base64}");
            json!({"type": "file", "file": {"filename": name, "file_data": data}})
        }
        Input::Audio { format, base64 } => {
            json!({"type": "input_audio", "input_audio": {"data": base64, "format": format}})
        }
    }
}

/// Decodes the chunks of an answer.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// The calls, with the index by which their pieces are assigned.
    calls: Vec<(u64, PartialCall)>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    has_refusal: bool,
}

#[derive(Deserialize)]
struct Chunk {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<OpenAiUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

/// The usage of chat completions and, under the other names, of responses.
#[derive(Deserialize)]
pub(super) struct OpenAiUsage {
    #[serde(default, alias = "input_tokens")]
    prompt_tokens: u64,
    #[serde(default, alias = "output_tokens")]
    completion_tokens: u64,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<InputDetails>,
    #[serde(alias = "output_tokens_details")]
    completion_tokens_details: Option<OutputDetails>,
    /// OpenRouter's, in US dollars.
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Decoder for Chunks {
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError> {
        if data.trim_ascii() == b"[DONE]" {
            self.finish(output);
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(data).map_err(malformed)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(failure::of_body(None, &error));
        }
        output.start(chunk.id.as_deref(), chunk.model.as_deref());
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage.into());
        }
        for choice in chunk.choices.unwrap_or_default() {
            // More than one choice is never asked for.
            if choice.index != 0 {
                continue;
            }
            if let Some(delta) = choice.delta {
                self.read_delta(delta, output)?;
            }
            self.stop = match choice.finish_reason.as_deref() {
                // Some servers write an empty reason into each chunk.
                None | Some("") => self.stop.take(),
                Some("stop") => Some(StopReason::End),
                Some("tool_calls" | "function_call") => Some(StopReason::ToolCalls),
                Some("length") => Some(StopReason::Length),
                Some("content_filter") => Some(StopReason::Filter),
                Some(reason) => Some(other_stop(reason)),
            };
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Output) -> Result<(), ModelError> {
        // Without `[DONE]`, a reason says that the answer is complete.
        if self.stop.is_none() {
            return Err(ModelError::new(ModelErrorKind::Cut));
        }
        self.finish(output);
        Ok(())
    }
}

impl Chunks {
    fn read_delta(&mut self, delta: Delta, output: &mut Output) -> Result<(), ModelError> {
        // Servers that write both write the same text twice.
        if let Some(text) = delta.reasoning_content.or(delta.reasoning) {
            output.thinking(text);
        }
        if let Some(text) = delta.content {
            output.text(text);
        }
        self.has_refusal |= delta.refusal.is_some_and(|text| !text.is_empty());
        for piece in delta.tool_calls.unwrap_or_default() {
            self.read_call(&piece)?;
        }
        Ok(())
    }

    fn read_call(&mut self, piece: &CallDelta) -> Result<(), ModelError> {
        let none = FunctionDelta::default();
        let function = piece.function.as_ref().unwrap_or(&none);
        let id = piece.id.as_deref().unwrap_or_default();
        let name = function.name.as_deref().unwrap_or_default();
        let known = match piece.index {
            Some(index) => self.calls.iter().rposition(|(known, _)| *known == index),
            None => self.calls.len().checked_sub(1),
        };
        // Some servers give all calls one index: another id with a name is another call.
        let known = known.filter(|at| {
            let call = &self.calls[*at].1;
            id.is_empty() || name.is_empty() || call.id == id || call.id.is_empty()
        });
        let at = match known {
            Some(at) => at,
            None if self.calls.len() == MAX_CALLS => {
                return Err(ModelError::new(ModelErrorKind::Cut));
            }
            None => {
                let index = piece.index.unwrap_or(self.calls.len() as u64);
                self.calls.push((index, PartialCall::new(id, name)));
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at].1;
        // Ids and names are whole when they come, but may come after the first piece.
        if call.id.is_empty() || call.name.is_empty() {
            call.complete(id, name);
        }
        call.push(function.arguments.as_deref().unwrap_or_default())
    }

    fn finish(&mut self, output: &mut Output) {
        self.calls.drain(..).for_each(|(_, call)| output.call(call));
        let stop = if self.has_refusal { Some(StopReason::Filter) } else { self.stop.take() };
        output.finish(self.usage.take(), stop);
    }
}

impl From<OpenAiUsage> for Usage {
    fn from(usage: OpenAiUsage) -> Self {
        let input = usage.prompt_tokens_details;
        Self {
            input: usage.prompt_tokens,
            cached_input: input.as_ref().and_then(|details| details.cached_tokens),
            cache_write: input.and_then(|details| details.cache_write_tokens),
            output: usage.completion_tokens,
            reasoning: usage.completion_tokens_details.and_then(|details| details.reasoning_tokens),
            cost: usage.cost.and_then(nanodollars),
        }
    }
}

/// An amount in 10⁻⁹ dollars; `None` if it can't be one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked, and nothing is lost that is charged"
)]
fn nanodollars(dollars: f64) -> Option<u64> {
    (0.0..=1e9).contains(&dollars).then(|| (dollars * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use a2a_core::Part;

    use super::*;

    #[test]
    fn host_of_openai_gets_documents_sound_and_the_newer_limit() {
        let parts = vec![
            Part::file("a.pdf", "application/pdf", "pdf"),
            Part::file("a.wav", "audio/x-wav", "wav"),
            Part::file("a.mp3", "audio/mpeg", "mp3"),
        ];
        let turns = vec![Turn::User(parts)];
        let request = ChatRequest { turns, max_output_tokens: Some(9), ..ChatRequest::default() };
        let body = body("m", &request, true).unwrap();
        assert_eq!(
            (body.get("max_completion_tokens"), body.get("max_tokens")),
            (Some(&9.into()), None)
        );
        let data = "data:application/pdf;base64,cGRm";
        assert_eq!(
            body["messages"][0]["content"],
            json!([
                {"type": "file", "file": {"filename": "a.pdf", "file_data": data}},
                {"type": "input_audio", "input_audio": {"data": "d2F2", "format": "wav"}},
                {"type": "input_audio", "input_audio": {"data": "bXAz", "format": "mp3"}},
            ])
        );
    }

    #[test]
    fn cost_is_read_in_nanodollars() {
        for (dollars, expected) in [
            (0.0, Some(0)),
            (0.1, Some(100_000_000)),
            (1.5e-9, Some(2)),
            (-0.1, None),
            (f64::NAN, None),
            (1e300, None),
        ] {
            assert_eq!(nanodollars(dollars), expected, "{dollars}");
        }
    }
}
