//! The presence rules of agent card members, from the proto.

use std::{collections::HashMap, sync::LazyLock};

use prost::Message as _;
use serde_json::{Map, Value};

use super::descriptor::{Descriptors, Field, Kind, Message};

/// How to treat members that are not in the proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Keep,
    Drop,
}

/// A card that has no canonical form; the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidCard(pub(super) String);

/// The messages of the proto by full name.
struct Schema(HashMap<String, Message>);

static SCHEMA: LazyLock<Option<Schema>> = LazyLock::new(|| {
    let descriptors = Descriptors::decode(a2a_core::DESCRIPTOR).ok()?;
    Some(Schema(descriptors.into_messages()))
});

/// Applies the presence rules (spec §8.4.1): removes members with default values, unless they are
/// REQUIRED or have explicit presence. Absent members are not added. Members get their ProtoJSON
/// names.
pub(super) fn present(
    card: &Map<String, Value>,
    unknown: Unknown,
) -> Result<Map<String, Value>, InvalidCard> {
    let schema =
        SCHEMA.as_ref().ok_or_else(|| InvalidCard("proto descriptor unavailable".to_owned()))?;
    schema.object(".lf.a2a.v1.AgentCard", card, unknown, "")
}

impl Schema {
    fn object(
        &self,
        message: &str,
        members: &Map<String, Value>,
        unknown: Unknown,
        path: &str,
    ) -> Result<Map<String, Value>, InvalidCard> {
        let message = self.message(message)?;
        let mut kept = Map::new();
        for (name, value) in members {
            let Some(field) = message.field_named(name) else {
                if unknown == Unknown::Keep {
                    insert(&mut kept, name, value.clone(), path)?;
                }
                continue;
            };
            let path = format!("{path}{}", field.json_name);
            // In ProtoJSON, null means unset.
            if value.is_null() {
                continue;
            }
            let value = self.member(field, value, unknown, &path)?;
            if field.has_presence() || field.is_required() || !is_default(&value) {
                insert(&mut kept, &field.json_name, value, &path)?;
            }
        }
        Ok(kept)
    }

    fn member(
        &self,
        field: &Field,
        value: &Value,
        unknown: Unknown,
        path: &str,
    ) -> Result<Value, InvalidCard> {
        let invalid = || InvalidCard(format!("{path} has the wrong type"));
        if !field.is_repeated() {
            return self.value(field, value, unknown, path);
        }
        if let Some(entry) = self.0.get(&field.type_name).and_then(Message::map_value) {
            let members = value.as_object().ok_or_else(invalid)?.iter();
            let members = members.map(|(key, value)| {
                let path = format!("{path}.{key}");
                Ok((key.clone(), self.value(entry, value, unknown, &path)?))
            });
            return members.collect::<Result<Map<_, _>, _>>().map(Value::Object);
        }
        let elements = value.as_array().ok_or_else(invalid)?.iter().enumerate();
        let elements = elements
            .map(|(index, value)| self.value(field, value, unknown, &format!("{path}[{index}]")));
        elements.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    /// Processes one value of a member that may be repeated.
    fn value(
        &self,
        field: &Field,
        value: &Value,
        unknown: Unknown,
        path: &str,
    ) -> Result<Value, InvalidCard> {
        let invalid = || InvalidCard(format!("{path} has the wrong type"));
        match field.kind() {
            // The content of a Struct is opaque.
            Kind::Message if field.type_name.starts_with(".google.protobuf.") => Ok(value.clone()),
            Kind::Message => {
                let members = value.as_object().ok_or_else(invalid)?;
                let path = format!("{path}.");
                self.object(&field.type_name, members, unknown, &path).map(Value::Object)
            }
            Kind::String if value.is_string() => Ok(value.clone()),
            Kind::Bool if value.is_boolean() => Ok(value.clone()),
            Kind::String | Kind::Bool => Err(invalid()),
            Kind::Other => Ok(value.clone()),
        }
    }

    fn message(&self, name: &str) -> Result<&Message, InvalidCard> {
        self.0.get(name).ok_or_else(|| InvalidCard(format!("the proto has no message {name}")))
    }
}

fn insert(
    members: &mut Map<String, Value>,
    name: &str,
    value: Value,
    path: &str,
) -> Result<(), InvalidCard> {
    // `iconUrl` and `icon_url` are one member.
    match members.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(InvalidCard(format!("duplicate member {path}"))),
    }
}

/// Returns whether a value is the default of its type.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
