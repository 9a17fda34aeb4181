//! The wire of Anthropic's messages.

use std::{collections::BTreeSet, mem};

use http::{HeaderName, HeaderValue};
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
    bounds::{MAX_TEXT, check},
    model::{Answer, ChatRequest, StopReason, Turn, Usage},
};

pub(super) static WIRE: Wire = Wire {
    path: "/v1/messages",
    models_path: "/v1/models?limit=1000",
    key: (HeaderName::from_static("x-api-key"), ""),
    version: Some((
        HeaderName::from_static("anthropic-version"),
        HeaderValue::from_static("2023-06-01"),
    )),
    reserved: &["messages", "model", "stream", "system", "tools"],
    max_event: MAX_EVENT,
    accepted: |_| ACCEPTED,
    body,
    decoder: || Box::new(Events::default()),
};

const ACCEPTED: Accepted = Accepted { pdf: true, audio: false, image_url: true };

/// The limit of output tokens where none is set: the API requires one.
const DEFAULT_MAX_TOKENS: u32 = 8192;

fn body(model: &str, request: &ChatRequest, _: bool) -> Result<Object, ModelError> {
    let mut messages = Messages::default();
    for turn in &request.turns {
        match turn {
            Turn::User(parts) => {
                let blocks = inputs(parts, ACCEPTED)?.iter().map(block).collect();
                messages.push("user", blocks);
            }
            Turn::Assistant(answers) => messages.push("assistant", assistant(answers)),
            Turn::ToolResults(outcomes) => {
                let result = outcomes.iter().map(|outcome| {
                    Value::Object(object(json!({
                        "type": "tool_result", "tool_use_id": outcome.id,
                        "content": outcome.content, "is_error": outcome.is_error.then_some(true),
                    })))
                });
                messages.push("user", result.collect());
            }
        }
    }
    let mut tools = list(
        &request.tools,
        |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}),
    );
    let mut choice = None;
    let called: Vec<_> = called_tools(request).into_iter().collect();
    if tools.is_none() && !called.is_empty() {
        // A conversation with calls has to declare tools, also when none may be called any more.
        tools = list(&called, |name| json!({"name": name, "input_schema": {"type": "object"}}));
        choice = Some(json!({"type": "none"}));
    }
    let effort = request.reasoning.map(|reasoning| json!({"effort": reasoning.name()}));
    Ok(object(json!({
        "model": model,
        "max_tokens": request.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "messages": messages.write("content"),
        "stream": true,
        "system": request.instructions.as_ref().filter(|text| !text.is_empty()),
        "tools": tools,
        "tool_choice": choice,
        "temperature": request.temperature,
        "thinking": effort.is_some().then(|| json!({"type": "adaptive"})),
        "output_config": effort,
    })))
}

/// The names of the tools that were called in the conversation.
fn called_tools(request: &ChatRequest) -> BTreeSet<&str> {
    let answers = request.turns.iter().filter_map(|turn| match turn {
        Turn::Assistant(answers) => Some(answers),
        _ => None,
    });
    let calls = answers.flatten().filter_map(|answer| match answer {
        Answer::ToolCall(call) => Some(&*call.name),
        _ => None,
    });
    calls.collect()
}

/// Writes what the model answered, in order: its thoughts come before text and calls.
fn assistant(answers: &[Answer]) -> Vec<Value> {
    let mut blocks = Vec::new();
    for answer in answers {
        match answer {
            // Text without anything to see is rejected.
            Answer::Text(text) if text.trim().is_empty() => {}
            Answer::Text(text) => blocks.push(json!({"type": "text", "text": text})),
            Answer::ToolCall(call) => blocks.push(json!({
                "type": "tool_use", "id": call.id, "name": call.name,
                "input": arguments_as_object(call),
            })),
            Answer::Opaque(block) => blocks.push(block.clone()),
        }
    }
    blocks
}

fn block(input: &Input<'_>) -> Value {
    match input {
        Input::Text(text) => json!({"type": "text", "text": text}),
        Input::Image { media_type, base64 } => json!({"type": "image", "source": {
            "type": "base64", "media_type": media_type, "data": base64,
        }}),
        Input::ImageUrl(url) => json!({"type": "image", "source": {"type": "url", "url": url}}),
        Input::Pdf { name, base64 } => json!({"type": "document", "title": name, "source": {
            "type": "base64", "media_type": "application/pdf", "data": base64,
        }}),
        // Refused before: see `Accepted`.
        Input::Audio { .. } => Value::Null,
    }
}

/// Decodes the events of an answer.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The block that is open; blocks follow one another.
    block: Block,
    usage: EventUsage,
    stop: Option<StopReason>,
}

/// An open block of the answer.
#[derive(Debug, Default)]
enum Block {
    /// None, or one whose content is passed on at once or unknown here.
    #[default]
    Other,
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    ToolUse(PartialCall),
}

/// An event of any type, of which later versions may add some.
#[derive(Deserialize)]
struct Event {
    r#type: String,
    message: Option<Message>,
    content_block: Option<Content>,
    delta: Option<Content>,
    usage: Option<EventUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    model: Option<String>,
    usage: Option<EventUsage>,
}

/// The start of a block, or what is added to it or to the message.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    r#type: String,
    id: String,
    name: String,
    text: String,
    thinking: String,
    signature: String,
    data: String,
    partial_json: String,
    stop_reason: Option<String>,
}

/// Tokens, of which later events report some anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct EventUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Decoder for Events {
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError> {
        let event: Event = serde_json::from_slice(data).map_err(malformed)?;
        let delta = event.delta.unwrap_or_default();
        match &*event.r#type {
            "message_start" => {
                if let Some(message) = event.message {
                    output.start(message.id.as_deref(), message.model.as_deref());
                    self.count(message.usage);
                }
            }
            "content_block_start" => self.open(event.content_block.unwrap_or_default(), output),
            "content_block_delta" => self.append(delta, output)?,
            "content_block_stop" => self.close(output),
            "message_delta" => {
                self.count(event.usage);
                self.stop = match delta.stop_reason.as_deref() {
                    None => self.stop.take(),
                    Some("end_turn" | "stop_sequence") => Some(StopReason::End),
                    Some("tool_use") => Some(StopReason::ToolCalls),
                    Some("max_tokens") => Some(StopReason::Length),
                    Some("model_context_window_exceeded") => Some(StopReason::ContextWindow),
                    Some("refusal") => Some(StopReason::Filter),
                    Some(reason) => Some(other_stop(reason)),
                };
            }
            "message_stop" => {
                self.close(output);
                let is_known = self.usage != EventUsage::default();
                output.finish(is_known.then(|| self.usage.into()), self.stop.take());
            }
            "error" => return Err(failure::of_body(None, &event.error.unwrap_or_default())),
            // Pings, and events of later versions.
            _ => {}
        }
        Ok(())
    }
}

impl Events {
    fn open(&mut self, start: Content, output: &mut Output) {
        self.close(output);
        match &*start.r#type {
            "text" => output.text(start.text),
            "thinking" => {
                self.block =
                    Block::Thinking { text: start.thinking.clone(), signature: start.signature };
                output.thinking(start.thinking);
            }
            "redacted_thinking" => self.block = Block::Redacted(start.data),
            "tool_use" => self.block = Block::ToolUse(PartialCall::new(&start.id, &start.name)),
            _ => {}
        }
    }

    fn append(&mut self, delta: Content, output: &mut Output) -> Result<(), ModelError> {
        match (&*delta.r#type, &mut self.block) {
            ("text_delta", _) => output.text(delta.text),
            ("thinking_delta", Block::Thinking { text, .. }) => {
                text.push_str(&delta.thinking);
                check(text.len(), MAX_TEXT)?;
                output.thinking(delta.thinking);
            }
            ("signature_delta", Block::Thinking { signature, .. }) => {
                signature.push_str(&delta.signature);
                check(signature.len(), MAX_TEXT)?;
            }
            ("input_json_delta", Block::ToolUse(call)) => call.push(&delta.partial_json)?,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, output: &mut Output) {
        match mem::take(&mut self.block) {
            Block::Other => {}
            Block::Thinking { text, signature } => {
                let block = json!({"type": "thinking", "thinking": text, "signature": signature});
                output.opaque(block);
            }
            Block::Redacted(data) => {
                output.opaque(json!({"type": "redacted_thinking", "data": data}));
            }
            Block::ToolUse(call) => output.call(call),
        }
    }

    /// Later numbers replace earlier ones.
    fn count(&mut self, usage: Option<EventUsage>) {
        let (old, new) = (self.usage, usage.unwrap_or_default());
        let (read, written) = (new.cache_read_input_tokens, new.cache_creation_input_tokens);
        self.usage = EventUsage {
            input_tokens: new.input_tokens.or(old.input_tokens),
            cache_read_input_tokens: read.or(old.cache_read_input_tokens),
            cache_creation_input_tokens: written.or(old.cache_creation_input_tokens),
            output_tokens: new.output_tokens.or(old.output_tokens),
        };
    }
}

impl From<EventUsage> for Usage {
    fn from(usage: EventUsage) -> Self {
        let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
        let parts = [usage.input_tokens, read, written];
        Self {
            input: parts.into_iter().flatten().fold(0, u64::saturating_add),
            cached_input: read,
            cache_write: written,
            output: usage.output_tokens.unwrap_or_default(),
            reasoning: None,
            cost: None,
        }
    }
}
