//! The JSON form of messages (spec §5.5), checked against the descriptor.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, Value as ProtoValue};
use serde_json::Value;

/// Returns the violations in the JSON of a message.
pub(crate) fn faults(descriptor: &MessageDescriptor, json: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check_message(descriptor, json, "$", &mut faults);
    faults
}

fn check_message(
    descriptor: &MessageDescriptor,
    json: &Value,
    path: &str,
    faults: &mut Vec<String>,
) {
    match descriptor.full_name() {
        // Any JSON.
        "google.protobuf.Value" => return,
        "google.protobuf.Struct" => {
            if !json.is_object() {
                faults.push(format!("{path}: not an object"));
            }
            return;
        }
        "google.protobuf.Timestamp" => {
            if !json.as_str().is_some_and(is_timestamp) {
                faults.push(format!("{path}: {json} is not a timestamp with Z"));
            }
            return;
        }
        _ => {}
    }
    let Some(object) = json.as_object() else {
        faults.push(format!("{path}: not an object"));
        return;
    };
    for (name, member) in object {
        let path = format!("{path}.{name}");
        match descriptor.fields().find(|field| field.json_name() == name) {
            Some(field) => check_member(&field, member, &path, faults),
            None => faults.push(format!("{path}: no such member")),
        }
    }
    for field in descriptor.fields().filter(is_required_with_default) {
        if !object.contains_key(field.json_name()) {
            faults.push(format!("{path}.{}: is required and not printed", field.json_name()));
        }
    }
    for oneof in descriptor.oneofs().filter(|oneof| !oneof.is_synthetic()) {
        let printed = oneof.fields().filter(|field| object.contains_key(field.json_name()));
        if printed.count() > 1 {
            faults.push(format!("{path}: two members of {}", oneof.name()));
        }
    }
}

fn check_member(field: &FieldDescriptor, json: &Value, path: &str, faults: &mut Vec<String>) {
    let is_any_json =
        matches!(field.kind(), Kind::Message(kind) if kind.full_name() == "google.protobuf.Value");
    if json.is_null() && !is_any_json {
        faults.push(format!("{path}: null is never printed"));
        return;
    }
    if field.is_map() {
        let Kind::Message(entry) = field.kind() else { unreachable!("a map has entries") };
        let Some(entries) = json.as_object() else {
            faults.push(format!("{path}: a map is an object"));
            return;
        };
        for (key, value) in entries {
            check_value(&entry.map_entry_value_field(), value, &format!("{path}.{key}"), faults);
        }
        if entries.is_empty() && !is_required(field) {
            faults.push(format!("{path}: an empty map is not printed"));
        }
    } else if field.is_list() {
        let Some(elements) = json.as_array() else {
            faults.push(format!("{path}: a repeated member is an array"));
            return;
        };
        for (index, element) in elements.iter().enumerate() {
            check_value(field, element, &format!("{path}[{index}]"), faults);
        }
        if elements.is_empty() && !is_required(field) {
            faults.push(format!("{path}: an empty array is not printed"));
        }
    } else {
        check_value(field, json, path, faults);
        let is_default = match json {
            Value::Bool(value) => !value,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        let is_scalar = !matches!(field.kind(), Kind::Message(_));
        if is_default && is_scalar && !field.supports_presence() && !is_required(field) {
            faults.push(format!("{path}: a default is not printed"));
        }
    }
}

fn check_value(field: &FieldDescriptor, json: &Value, path: &str, faults: &mut Vec<String>) {
    let fits = match field.kind() {
        Kind::Message(descriptor) => {
            check_message(&descriptor, json, path, faults);
            true
        }
        Kind::Enum(kind) => {
            json.as_str().is_some_and(|name| kind.values().any(|value| value.name() == name))
        }
        Kind::String => json.is_string(),
        Kind::Bool => json.is_boolean(),
        Kind::Int32 => json.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Kind::Bytes => json.as_str().is_some_and(is_base64),
        other => unreachable!("no member is a {other:?}"),
    };
    if !fits {
        faults.push(format!("{path}: {json} is not of type {:?}", field.kind()));
    }
}

fn is_required(field: &FieldDescriptor) -> bool {
    let pool = field.parent_pool();
    let extension =
        pool.get_extension_by_name("google.api.field_behavior").expect("the annotation");
    let options = field.options();
    let behavior = options.get_extension(&extension);
    behavior.as_list().is_some_and(|list| list.contains(&ProtoValue::EnumNumber(2)))
}

/// A message has no default that could be printed.
fn is_required_with_default(field: &FieldDescriptor) -> bool {
    let is_message =
        matches!(field.kind(), Kind::Message(_)) && !field.is_list() && !field.is_map();
    is_required(field) && !is_message
}

fn is_timestamp(text: &str) -> bool {
    let Some((date, fraction)) = text.strip_suffix('Z').and_then(|text| text.split_once('.'))
    else {
        return false;
    };
    let shape = "0000-00-00T00:00:00";
    let fits = |(wanted, found): (char, char)| match wanted {
        '0' => found.is_ascii_digit(),
        other => other == found,
    };
    date.len() == shape.len()
        && shape.chars().zip(date.chars()).all(fits)
        && matches!(fraction.len(), 3 | 6 | 9)
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

/// The standard alphabet, padded.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}
