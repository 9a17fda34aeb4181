//! Rewrites ProtoJSON of deployed clients in its canonical form, which is all that pbjson reads.

use std::fmt;

use a2a_core::TaskState;
use a2a_kit_rest::camel_case;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, map::Entry};

use crate::common::{json::Object, member};

/// A document in canonical form: without members that are `null`, with the names of 0.3 in
/// lowerCamelCase, and with numbers of enum values. Rejects members that occur twice.
pub(super) struct Canonical(pub(super) Value);

impl<'de> Deserialize<'de> for Canonical {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Member { parent: "", name: "" }.deserialize(from).map(Self)
    }
}

/// Reads the value of a member, or an element of its list.
#[derive(Clone, Copy)]
struct Member<'a> {
    /// The member with its object; empty for the document.
    parent: &'a str,
    name: &'a str,
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match (self.parent, self.name) {
            // Free-form objects.
            (_, "metadata") | ("data", "data") => Value::deserialize(from),
            _ => self.canonical(from.deserialize_any(self)?).map_err(D::Error::custom),
        }
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, boolean: bool) -> Result<Value, E> {
        Ok(boolean.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element_seed(self)? {
            elements.push(element);
        }
        Ok(elements.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Object::new();
        while let Some(name) = map.next_key::<String>()? {
            let name = camel_case(name.into());
            let name = name_in_0_3(self.name, &name);
            let value = map.next_value_seed(Member { parent: self.name, name })?;
            match members.entry(name) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(_) => {
                    return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                }
            };
        }
        members.retain(|_, value| !value.is_null());
        Ok(members.into())
    }
}

/// The name in 0.3 of a member that has another one in other revisions or implementations. `parent`
/// is the member with its object.
fn name_in_0_3<'a>(parent: &str, name: &'a str) -> &'a str {
    match (parent, name) {
        ("", "request" | "msg") | ("status", "update") => "message",
        ("message" | "history", "parts") => "content",
        ("configuration", "pushNotificationConfig") => "pushNotification",
        ("file", "uri") => "fileWithUri",
        ("file", "bytes") => "fileWithBytes",
        ("file", "mediaType") => "mimeType",
        _ => name,
    }
}

impl Member<'_> {
    /// Rewrites the value of the member.
    fn canonical(self, mut value: Value) -> Result<Value, String> {
        match (self.parent, self.name, &mut value) {
            (_, _, Value::Null) => {}
            // pbjson requires what is always written.
            ("", "configuration", Value::Object(members)) => {
                members.entry("blocking").or_insert(false.into());
            }
            ("", "statusUpdate", Value::Object(members)) => {
                members.entry("final").or_insert(false.into());
            }
            ("configuration", "historyLength", _) => {
                let length = member::int32(value).map_err(|error| error.to_string());
                return length.map(Value::from);
            }
            ("status", "state", _) => {
                let state = number(&value, TaskState::from_any_name);
                return state.ok_or_else(|| format!("unknown task state {value}"));
            }
            ("status", "timestamp", _) => {
                return Ok(member::timestamp(&value).map(|time| time.to_string()).into());
            }
            ("message" | "history", "role", _) => {
                let accepted = "is not a known value: must be ROLE_USER or ROLE_AGENT";
                return number(&value, member::role).ok_or_else(|| accepted.to_owned());
            }
            ("file", "fileWithBytes", Value::String(text)) => {
                text.retain(|letter| !letter.is_ascii_whitespace());
            }
            _ => {}
        }
        Ok(value)
    }
}

/// The number of an enum value that is given by a name of any revision, or by its number.
fn number<E: TryFrom<i32> + Into<i32>>(
    value: &Value,
    named: impl Fn(&str) -> Option<E>,
) -> Option<Value> {
    let known: Option<E> = match value {
        Value::String(name) => named(name),
        other => i32::try_from(other.as_i64()?).ok()?.try_into().ok(),
    };
    known.map(|known| Value::from(known.into()))
}
