//! Assertions that return errors.

use std::fmt::{Debug, Display};

use serde_json::Value;

/// The error of a check.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of a check.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// Fails with `text` unless `condition` holds.
pub(crate) fn expect(condition: bool, text: impl Display) -> Result {
    if condition { Ok(()) } else { Err(text.to_string().into()) }
}

/// Fails unless the two are equal.
pub(crate) fn same<T, U>(actual: T, expected: U, what: &str) -> Result
where
    T: Debug + PartialEq<U>,
    U: Debug,
{
    let text = format!("{what}: expected {expected:?}, got {actual:?}");
    expect(actual == expected, text)
}

/// Fails unless the two are the same JSON. Numbers are compared by value: protobuf has only
/// floating-point numbers.
pub(crate) fn same_json(actual: &Value, expected: &Value, what: &str) -> Result {
    expect(is_same(actual, expected), format!("{what}: expected {expected}, got {actual}"))
}

fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(one, two)| is_same(one, two))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, one)| right.get(key).is_some_and(|two| is_same(one, two)))
        }
        _ => left == right,
    }
}

/// Fails unless the status of a task or of an update has this state, without its prefix.
pub(crate) fn state_is(carrier: &Value, state: &str) -> Result {
    same(state_of(carrier), format!("TASK_STATE_{state}"), "state")
}

/// The state of a task or of an update.
pub(crate) fn state_of(carrier: &Value) -> &str {
    text_at(carrier, "/status/state")
}

/// The text at a pointer, empty if there is none.
pub(crate) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a pointer, 0 if there is none.
pub(crate) fn number_at(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns whether the member at a pointer is true.
pub(crate) fn is_set(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// The list at a pointer, empty if there is none.
pub(crate) fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of the parts of a message or an artifact.
pub(crate) fn texts_of(carrier: &Value) -> Vec<&str> {
    list_at(carrier, "/parts").iter().map(|part| text_at(part, "/text")).collect()
}

/// The text of a message or an artifact.
pub(crate) fn text_of(carrier: &Value) -> String {
    texts_of(carrier).concat()
}

/// The text of the message of a status.
pub(crate) fn status_text(carrier: &Value) -> String {
    carrier.pointer("/status/message").map(text_of).unwrap_or_default()
}

/// The ids of tasks.
pub(crate) fn ids(tasks: &[Value]) -> Vec<&str> {
    tasks.iter().map(|task| text_at(task, "/id")).collect()
}
