//! What the bodies of requests have in common.

use serde_json::{Map, Value, json};

use crate::model::ToolCall;

/// The JSON object of a request.
pub(super) type Object = Map<String, Value>;

/// The members of an object that have a value.
pub(super) fn object(members: Value) -> Object {
    let Value::Object(mut members) = members else { return Object::new() };
    members.retain(|_, value| !value.is_null());
    members
}

/// A list of at least one element; no value otherwise.
pub(super) fn list<T>(elements: &[T], write: impl FnMut(&T) -> Value) -> Option<Vec<Value>> {
    (!elements.is_empty()).then(|| elements.iter().map(write).collect())
}

/// Messages with a role and blocks each, of which adjacent ones with the same role are one.
#[derive(Debug, Default)]
pub(super) struct Messages(Vec<(&'static str, Vec<Value>)>);

impl Messages {
    pub(super) fn push(&mut self, role: &'static str, blocks: Vec<Value>) {
        match self.0.last_mut() {
            // A message without content is rejected.
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.0.push((role, blocks)),
        }
    }

    /// The messages, with their blocks in the member `content`.
    pub(super) fn write(self, content: &str) -> Value {
        let write = |(role, blocks)| json!({"role": role, (content): blocks});
        self.0.into_iter().map(write).collect()
    }
}

/// The arguments of a call as text, as the model wrote them.
pub(super) fn arguments_as_text(call: &ToolCall) -> String {
    match &call.arguments {
        // What the model wrote was not JSON.
        Value::String(text) => text.clone(),
        arguments => arguments.to_string(),
    }
}

/// The arguments of a call as an object, for an API that requires one.
pub(super) fn arguments_as_object(call: &ToolCall) -> Value {
    match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        other => json!({"arguments": other}),
    }
}
