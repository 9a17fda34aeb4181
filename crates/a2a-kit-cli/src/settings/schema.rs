//! The JSON Schema of settings.

use serde_json::{Map, Value, json};
use serde_path_to_error::Segment;

use super::{
    section::{Declared, FILE_SUFFIX},
    types::has_credentials,
};

/// Returns the JSON Schema of all settings.
pub(crate) fn json_schema<T: Declared>() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": T::TITLE,
        "type": "object",
        "additionalProperties": false,
        "properties": {},
    });
    for section in T::sections() {
        let mut properties = Map::new();
        for setting in &section.settings {
            let mut schema = setting.schema.clone();
            schema["description"] = setting.help.replace('\n', " ").into();
            if !setting.default.is_null() {
                schema["default"] = setting.default.clone();
            }
            properties.insert(setting.key.to_owned(), schema);
        }
        schema["properties"][section.name] = json!({
            "type": "object",
            "description": section.title,
            "additionalProperties": false,
            "properties": properties,
        });
    }
    add_files(&mut schema);
    schema
}

/// Adds the keys that name a file with a secret, which may be given in place of the secret.
fn add_files(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let secrets = properties.iter().filter(|(_, schema)| is_secret(schema));
        let secrets: Vec<_> = secrets.map(|(name, _)| name.clone()).collect();
        for name in &secrets {
            let about = format!("File with {name}");
            let file = json!({ "type": "string", "description": about });
            properties.insert(format!("{name}{FILE_SUFFIX}"), file);
        }
        properties.values_mut().for_each(add_files);
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| !secrets.iter().any(|secret| name == secret));
        }
    }
    schema.get_mut("items").into_iter().for_each(add_files);
}

/// Returns the schema below `schema` at a path such as `auth.api_key[0].caller`.
pub(super) fn at<'a>(path: &[Segment], schema: &'a Value) -> Option<&'a Value> {
    path.iter().try_fold(schema, |schema, segment| match segment {
        Segment::Map { key } => schema.get("properties")?.get(key),
        Segment::Seq { .. } => schema.get("items"),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}

/// Returns whether values are of this JSON type.
pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::Array(types) => types.iter().any(|one| one == name),
        one => one == name,
    }
}

/// Returns whether values must not be shown.
pub(super) fn is_secret(schema: &Value) -> bool {
    schema["writeOnly"] == true
}

/// Returns whether a value may be printed: an address is a secret only with credentials in it.
pub(super) fn may_show(schema: &Value, value: &Value) -> bool {
    let is_address = schema["format"] != "password";
    let is_shown = |address: &str| is_address && !has_credentials(address);
    let has_secrets = is_secret(schema) || is_secret(&schema["items"]);
    !has_secrets || value.as_str().is_some_and(is_shown) || *value == json!([])
}

/// The valid values, if they are enumerated.
pub(super) fn choices(schema: &Value) -> Vec<&str> {
    let choices = schema["enum"].as_array().into_iter().flatten();
    choices.filter_map(Value::as_str).collect()
}

/// Returns whether a value has the type of a schema.
pub(super) fn matches_type(schema: &Value, value: &Value) -> bool {
    match value {
        Value::Bool(_) => has_type(schema, "boolean"),
        Value::Number(_) if has_type(schema, "number") => true,
        Value::Number(number) if number.is_u64() => has_type(schema, "integer"),
        // A secret in a variable or a file is an object.
        Value::Object(_) if is_secret(schema) => true,
        Value::String(_) => has_type(schema, "string"),
        Value::Array(_) => has_type(schema, "array"),
        Value::Object(_) => has_type(schema, "object"),
        Value::Number(_) | Value::Null => false,
    }
}

/// Describes the values of a schema for an error message.
pub(super) fn expected(schema: &Value) -> String {
    let choices = choices(schema);
    if !choices.is_empty() {
        return format!("expected {}", choices.join(", "));
    }
    if has_type(schema, "array") {
        let items = &schema["items"];
        let of = if has_type(items, "object") { "tables" } else { "strings" };
        return format!("expected an array of {of}");
    }
    if let (Some(title), Some(examples)) = (schema["title"].as_str(), schema["examples"].as_array())
    {
        let examples: Vec<_> = examples.iter().map(Value::to_string).collect();
        return format!("expected a {title} such as {}", examples.join(" or "));
    }
    match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
        (Some(min), Some(max)) => format!("expected an integer from {min} to {max}"),
        (Some(min), None) => format!("expected an integer of at least {min}"),
        _ if has_type(schema, "boolean") => "expected true or false".to_owned(),
        _ if has_type(schema, "object") => "expected a table".to_owned(),
        _ => "expected a string".to_owned(),
    }
}

/// The kind of a value for an error message. Strings are not repeated.
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        scalar => scalar.to_string(),
    }
}

/// A valid value.
pub(super) fn placeholder(schema: &Value) -> Value {
    let values =
        [&schema["default"], &schema["enum"][0], &schema["examples"][0], &schema["minimum"]];
    match values.into_iter().find(|value| !value.is_null()) {
        Some(value) => value.clone(),
        None if has_type(schema, "array") => json!([]),
        None if has_type(schema, "object") => json!({}),
        None => json!("-"),
    }
}
