//! The presence rules of agent card members, from the proto.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value};

/// How to treat members that are not in the proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Keep,
    Drop,
}

/// A card that has no canonical form; the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidCard(pub(super) String);

struct Schema {
    card: MessageDescriptor,
    /// `google.api.field_behavior`, which marks REQUIRED members.
    behavior: prost_reflect::ExtensionDescriptor,
}

static SCHEMA: LazyLock<Option<Schema>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(a2a_core::DESCRIPTOR).ok()?;
    let card = pool.get_message_by_name("lf.a2a.v1.AgentCard")?;
    let behavior = pool.get_extension_by_name("google.api.field_behavior")?;
    Some(Schema { card, behavior })
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
    schema.object(&schema.card, card, unknown, "")
}

impl Schema {
    fn object(
        &self,
        message: &MessageDescriptor,
        members: &Map<String, Value>,
        unknown: Unknown,
        path: &str,
    ) -> Result<Map<String, Value>, InvalidCard> {
        let mut kept = Map::new();
        for (name, value) in members {
            let field =
                message.get_field_by_json_name(name).or_else(|| message.get_field_by_name(name));
            let Some(field) = field else {
                if unknown == Unknown::Keep {
                    insert(&mut kept, name, value.clone(), path)?;
                }
                continue;
            };
            let path = format!("{path}{}", field.json_name());
            // In ProtoJSON, null means unset.
            if value.is_null() {
                continue;
            }
            let value = self.member(&field, value, unknown, &path)?;
            if field.supports_presence() || self.is_required(&field) || !is_default(&value) {
                insert(&mut kept, field.json_name(), value, &path)?;
            }
        }
        Ok(kept)
    }

    fn member(
        &self,
        field: &FieldDescriptor,
        value: &Value,
        unknown: Unknown,
        path: &str,
    ) -> Result<Value, InvalidCard> {
        let invalid = || InvalidCard(format!("{path} has the wrong type"));
        if field.is_map() {
            let Kind::Message(entry) = field.kind() else { return Err(invalid()) };
            let entry = entry.map_entry_value_field();
            let members = value.as_object().ok_or_else(invalid)?.iter();
            let members = members.map(|(key, value)| {
                let path = format!("{path}.{key}");
                Ok((key.clone(), self.value(&entry, value, unknown, &path)?))
            });
            return members.collect::<Result<Map<_, _>, _>>().map(Value::Object);
        }
        if field.is_list() {
            let elements = value.as_array().ok_or_else(invalid)?.iter().enumerate();
            let elements = elements.map(|(index, value)| {
                self.value(field, value, unknown, &format!("{path}[{index}]"))
            });
            return elements.collect::<Result<Vec<_>, _>>().map(Value::Array);
        }
        self.value(field, value, unknown, path)
    }

    /// Processes one value of a member that may be repeated.
    fn value(
        &self,
        field: &FieldDescriptor,
        value: &Value,
        unknown: Unknown,
        path: &str,
    ) -> Result<Value, InvalidCard> {
        let invalid = || InvalidCard(format!("{path} has the wrong type"));
        match field.kind() {
            // The content of a Struct is opaque.
            Kind::Message(message) if message.package_name() == "google.protobuf" => {
                Ok(value.clone())
            }
            Kind::Message(message) => {
                let members = value.as_object().ok_or_else(invalid)?;
                let path = format!("{path}.");
                self.object(&message, members, unknown, &path).map(Value::Object)
            }
            Kind::String if value.is_string() => Ok(value.clone()),
            Kind::Bool if value.is_boolean() => Ok(value.clone()),
            Kind::String | Kind::Bool => Err(invalid()),
            _ => Ok(value.clone()),
        }
    }

    fn is_required(&self, field: &FieldDescriptor) -> bool {
        const REQUIRED: i32 = 2;
        match &*field.options().get_extension(&self.behavior) {
            prost_reflect::Value::List(values) => {
                values.iter().any(|value| value.as_enum_number() == Some(REQUIRED))
            }
            _ => false,
        }
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
