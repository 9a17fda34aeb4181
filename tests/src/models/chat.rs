//! Responses of OpenAI's chat API, for the provider that follows a script.

use serde_json::{Value, json};

use super::fake::{Script, Step, head};

/// A whole answer: its head, its text, its end.
pub(super) fn said(text: &str) -> Script {
    response(&json!({ "content": text }), "stop")
}

/// A call of a tool with arguments in JSON.
pub(super) fn tool_call(id: &str, name: &str, arguments: &str) -> Script {
    let function = json!({ "name": name, "arguments": arguments });
    let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
    response(&json!({ "tool_calls": [call] }), "tool_calls")
}

fn response(delta: &Value, reason: &str) -> Script {
    let usage = json!({ "prompt_tokens": 3, "completion_tokens": 5 });
    let first = json!({ "choices": [{ "index": 0, "delta": delta }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let last = json!({ "choices": [], "usage": usage });
    let events = [first, end, last].map(|event| event.to_string());
    let chunk = |data: String| Step::Chunk(format!("data: {data}\n\n").into_bytes());
    let chunks = events.into_iter().chain(["[DONE]".to_owned()]).map(chunk);
    [head()].into_iter().chain(chunks).chain([Step::End]).collect()
}
