//! The wire of Anthropic's messages.

use std::{borrow::Cow, collections::BTreeSet, mem};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    failure::{self, malformed},
    output::{Decoder, Object, Output, PartialCall, other_stop},
    part::{Accepted, Input, inputs},
};
use crate::{
    ModelError,
    model::{Answer, ChatRequest, ModelErrorKind, StopReason, Turn, Usage},
};

/// The version of the API, in the header `anthropic-version`.
pub(super) const VERSION: &str = "2023-06-01";

/// The limit of output tokens where none is set: the API requires one.
const DEFAULT_MAX_TOKENS: u32 = 8192;

/// Writes the body of a request.
pub(super) fn body(
    model: &str,
    request: &ChatRequest,
    accepted: Accepted,
) -> Result<Object, ModelError> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in &request.turns {
        let (role, blocks) = match turn {
            Turn::User(parts) => ("user", inputs(parts, accepted)?.iter().map(block).collect()),
            Turn::Assistant(answers) => ("assistant", assistant(answers)),
            Turn::ToolResults(outcomes) => {
                let result = outcomes.iter().map(|outcome| {
                    let mut block = json!({
                        "type": "tool_result", "tool_use_id": outcome.id,
                        "content": outcome.content,
                    });
                    if outcome.is_error {
                        block["is_error"] = true.into();
                    }
                    block
                });
                ("user", result.collect::<Vec<_>>())
            }
        };
        match messages.last_mut() {
            // Results are of the user's role, too.
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    // Empty content is rejected.
    messages.retain(|(_, blocks)| !blocks.is_empty());
    let messages =
        messages.into_iter().map(|(role, content)| json!({"role": role, "content": content}));

    let mut body = Object::new();
    let mut set = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    set("model", model.into());
    set("max_tokens", request.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS).into());
    set("messages", messages.collect());
    set("stream", true.into());
    if let Some(instructions) = request.instructions.as_ref().filter(|text| !text.is_empty()) {
        set("system", instructions.as_str().into());
    }
    let tools: Vec<Value> = request.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
    }).collect();
    let called = called_tools(request);
    if !tools.is_empty() {
        set("tools", tools.into());
    } else if !called.is_empty() {
        // A conversation with calls has to declare tools, also when none may be called any more.
        let declared = called
            .into_iter()
            .map(|name| json!({"name": name, "input_schema": {"type": "object"}}));
        set("tools", declared.collect());
        set("tool_choice", json!({"type": "none"}));
    }
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.into());
    }
    if let Some(reasoning) = request.reasoning {
        set("thinking", json!({"type": "adaptive"}));
        set("output_config", json!({"effort": reasoning.name()}));
    }
    Ok(body)
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
            Answer::ToolCall(call) => {
                let input = match &call.arguments {
                    Value::Object(_) => call.arguments.clone(),
                    // What the model wrote was not an object, which is required here.
                    other => json!({"arguments": other}),
                };
                blocks.push(json!({
                    "type": "tool_use", "id": call.id, "name": call.name, "input": input,
                }));
            }
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
    usage: Option<EventUsage>,
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

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event<'a> {
    MessageStart {
        #[serde(borrow)]
        message: Message<'a>,
    },
    ContentBlockStart {
        #[serde(borrow)]
        content_block: BlockStart<'a>,
    },
    ContentBlockDelta {
        #[serde(borrow)]
        delta: Delta<'a>,
    },
    ContentBlockStop,
    MessageDelta {
        #[serde(borrow)]
        delta: MessageDelta<'a>,
        usage: Option<EventUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// Pings, and events of later versions.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    usage: Option<EventUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockStart<'a> {
    Text {
        #[serde(borrow, default)]
        text: Cow<'a, str>,
    },
    Thinking {
        #[serde(borrow, default)]
        thinking: Cow<'a, str>,
        #[serde(borrow, default)]
        signature: Cow<'a, str>,
    },
    RedactedThinking {
        #[serde(borrow)]
        data: Cow<'a, str>,
    },
    ToolUse {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        name: Cow<'a, str>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Delta<'a> {
    TextDelta {
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    ThinkingDelta {
        #[serde(borrow)]
        thinking: Cow<'a, str>,
    },
    SignatureDelta {
        #[serde(borrow)]
        signature: Cow<'a, str>,
    },
    InputJsonDelta {
        #[serde(borrow)]
        partial_json: Cow<'a, str>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageDelta<'a> {
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
}

/// Tokens, of which later events report some anew.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct EventUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Decoder for Events {
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError> {
        if data.trim_ascii().is_empty() {
            return Ok(());
        }
        match serde_json::from_slice(data).map_err(malformed)? {
            Event::MessageStart { message } => {
                output.start(message.id.as_deref(), message.model.as_deref());
                self.count(message.usage);
            }
            Event::ContentBlockStart { content_block } => self.open(content_block, output)?,
            Event::ContentBlockDelta { delta } => self.append(delta, output)?,
            Event::ContentBlockStop => self.close(output)?,
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
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
            Event::MessageStop => {
                self.close(output)?;
                output.finish(self.usage.map(Usage::from), self.stop.take());
            }
            Event::Error { error } => return Err(failure::of_body(None, &error)),
            Event::Other => {}
        }
        Ok(())
    }

    fn end(&mut self, _output: &mut Output) -> Result<(), ModelError> {
        Err(ModelError::new(ModelErrorKind::Cut))
    }
}

impl Events {
    fn open(&mut self, start: BlockStart<'_>, output: &mut Output) -> Result<(), ModelError> {
        self.close(output)?;
        match start {
            BlockStart::Text { text } => output.text(&text)?,
            BlockStart::Thinking { thinking, signature } => {
                output.thinking(&thinking)?;
                let (text, signature) = (thinking.into_owned(), signature.into_owned());
                self.block = Block::Thinking { text, signature };
            }
            BlockStart::RedactedThinking { data } => {
                self.block = Block::Redacted(data.into_owned())
            }
            BlockStart::ToolUse { id, name } => {
                self.block = Block::ToolUse(PartialCall::new(&id, &name));
            }
            BlockStart::Other => {}
        }
        Ok(())
    }

    fn append(&mut self, delta: Delta<'_>, output: &mut Output) -> Result<(), ModelError> {
        match (delta, &mut self.block) {
            (Delta::TextDelta { text }, _) => output.text(&text),
            (Delta::ThinkingDelta { thinking }, Block::Thinking { text, .. }) => {
                text.push_str(&thinking);
                output.thinking(&thinking)
            }
            (Delta::SignatureDelta { signature: more }, Block::Thinking { signature, .. }) => {
                signature.push_str(&more);
                output.check_opaque(signature.len())
            }
            (Delta::InputJsonDelta { partial_json }, Block::ToolUse(call)) => {
                call.push(&partial_json)
            }
            _ => Ok(()),
        }
    }

    fn close(&mut self, output: &mut Output) -> Result<(), ModelError> {
        match mem::take(&mut self.block) {
            Block::Other => Ok(()),
            Block::Thinking { text, signature } => {
                let size = text.len() + signature.len();
                let block = json!({"type": "thinking", "thinking": text, "signature": signature});
                output.opaque(block, size)
            }
            Block::Redacted(data) => {
                let size = data.len();
                output.opaque(json!({"type": "redacted_thinking", "data": data}), size)
            }
            Block::ToolUse(call) => output.call(call),
        }
    }

    /// Later numbers replace earlier ones.
    fn count(&mut self, usage: Option<EventUsage>) {
        let Some(new) = usage else { return };
        let old = self.usage.unwrap_or_default();
        self.usage = Some(EventUsage {
            input_tokens: new.input_tokens.or(old.input_tokens),
            cache_read_input_tokens: new.cache_read_input_tokens.or(old.cache_read_input_tokens),
            cache_creation_input_tokens: new
                .cache_creation_input_tokens
                .or(old.cache_creation_input_tokens),
            output_tokens: new.output_tokens.or(old.output_tokens),
        });
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
