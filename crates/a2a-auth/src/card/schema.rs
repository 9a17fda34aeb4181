//! The members of an agent card, by the proto.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value};

/// What becomes of members that the proto does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Keep,
    Drop,
}

/// A card that has no form to be signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfit(pub(super) String);

struct Schema {
    card: MessageDescriptor,
    /// `google.api.field_behavior`, by which members are REQUIRED.
    behavior: prost_reflect::ExtensionDescriptor,
}

static SCHEMA: LazyLock<Option<Schema>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(a2a_core::DESCRIPTOR).ok()?;
    let card = pool.get_message_by_name("lf.a2a.v1.AgentCard")?;
    let behavior = pool.get_extension_by_name("google.api.field_behavior")?;
    Some(Schema { card, behavior })
});

/// Leaves of a card what the presence rules leave (spec §8.4.1): members at their default go,
/// unless they are REQUIRED or of those whose presence is known, and absent ones are not made up.
/// Members take their names of ProtoJSON.
pub(super) fn present(
    card: &Map<String, Value>,
    unknown: Unknown,
) -> Result<Map<String, Value>, Unfit> {
    let schema = SCHEMA.as_ref().ok_or_else(|| Unfit("the proto can't be read".to_owned()))?;
    schema.object(&schema.card, card, unknown, "")
}

impl Schema {
    fn object(
        &self,
        message: &MessageDescriptor,
        members: &Map<String, Value>,
        unknown: Unknown,
        path: &str,
    ) -> Result<Map<String, Value>, Unfit> {
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
            // In ProtoJSON, null is what is not set.
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
    ) -> Result<Value, Unfit> {
        let unfit = || Unfit(format!("{path} is of another type"));
        if field.is_map() {
            let Kind::Message(entry) = field.kind() else { return Err(unfit()) };
            let entry = entry.map_entry_value_field();
            let members = value.as_object().ok_or_else(unfit)?.iter();
            let members = members.map(|(key, value)| {
                let path = format!("{path}.{key}");
                Ok((key.clone(), self.value(&entry, value, unknown, &path)?))
            });
            return members.collect::<Result<Map<_, _>, _>>().map(Value::Object);
        }
        if field.is_list() {
            let elements = value.as_array().ok_or_else(unfit)?.iter().enumerate();
            let elements = elements.map(|(index, value)| {
                self.value(field, value, unknown, &format!("{path}[{index}]"))
            });
            return elements.collect::<Result<Vec<_>, _>>().map(Value::Array);
        }
        self.value(field, value, unknown, path)
    }

    /// One value of a member that may have several.
    fn value(
        &self,
        field: &FieldDescriptor,
        value: &Value,
        unknown: Unknown,
        path: &str,
    ) -> Result<Value, Unfit> {
        let unfit = || Unfit(format!("{path} is of another type"));
        match field.kind() {
            // What is in a Struct is the business of whoever made it.
            Kind::Message(message) if message.package_name() == "google.protobuf" => {
                Ok(value.clone())
            }
            Kind::Message(message) => {
                let members = value.as_object().ok_or_else(unfit)?;
                let path = format!("{path}.");
                self.object(&message, members, unknown, &path).map(Value::Object)
            }
            Kind::String if value.is_string() => Ok(value.clone()),
            Kind::Bool if value.is_boolean() => Ok(value.clone()),
            Kind::String | Kind::Bool => Err(unfit()),
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
) -> Result<(), Unfit> {
    // `iconUrl` and `icon_url` are one member.
    match members.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(Unfit(format!("{path} stands twice, in two spellings"))),
    }
}

/// Returns whether a member has the value that it has when it is absent.
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
