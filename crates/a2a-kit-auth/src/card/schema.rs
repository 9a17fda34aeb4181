//! Parsing of agent cards, and the presence rules of their members, from the proto.

use std::fmt;

use a2a_core::{
    ParseError,
    card_members::{AGENT_CARD, Member, MemberKind, Shape},
};
use serde_json::{Map, Value};

use crate::unique_names;

/// How to treat members that are not in the proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Keep,
    Drop,
}

/// Parses a received card: an object without duplicate names.
pub(super) fn read(json: &[u8]) -> Result<Map<String, Value>, ParseError> {
    unique_names::object(json).map_err(not_a_card)
}

/// The error for a document that is not an agent card, or has no canonical form.
pub(super) fn not_a_card(reason: impl fmt::Display) -> ParseError {
    ParseError::new(format!("not a valid agent card: {reason}"))
}

/// Applies the presence rules (spec §8.4.1): removes members with default values, unless they are
/// REQUIRED or have explicit presence. Absent members are not added. Members get their ProtoJSON
/// names.
pub(super) fn present(
    card: &Map<String, Value>,
    unknown: Unknown,
) -> Result<Map<String, Value>, ParseError> {
    object(AGENT_CARD, card, unknown, "")
}

fn object(
    known: &[Member],
    members: &Map<String, Value>,
    unknown: Unknown,
    path: &str,
) -> Result<Map<String, Value>, ParseError> {
    let mut kept = Map::new();
    for (name, value) in members {
        let by_json_name = known.iter().find(|member| member.json_name == name);
        let Some(member) = by_json_name.or_else(|| known.iter().find(|one| one.name == name))
        else {
            if unknown == Unknown::Keep {
                insert(&mut kept, name, value.clone(), path)?;
            }
            continue;
        };
        let path = format!("{path}{}", member.json_name);
        // In ProtoJSON, null means unset.
        if value.is_null() {
            continue;
        }
        let value = all_values(member, value, unknown, &path)?;
        if member.keeps_default || !is_default(&value) {
            insert(&mut kept, member.json_name, value, &path)?;
        }
    }
    Ok(kept)
}

fn all_values(
    member: &Member,
    value: &Value,
    unknown: Unknown,
    path: &str,
) -> Result<Value, ParseError> {
    let kind = &member.kind;
    match (member.shape, value) {
        (Shape::Single, _) => one_value(kind, value, unknown, path),
        (Shape::Map, Value::Object(members)) => {
            let members = members.iter().map(|(key, value)| {
                Ok((key.clone(), one_value(kind, value, unknown, &format!("{path}.{key}"))?))
            });
            members.collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        (Shape::List, Value::Array(elements)) => {
            let elements = elements
                .iter()
                .enumerate()
                .map(|(index, value)| one_value(kind, value, unknown, &format!("{path}[{index}]")));
            elements.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        _ => Err(wrong_type(path)),
    }
}

fn one_value(
    kind: &MemberKind,
    value: &Value,
    unknown: Unknown,
    path: &str,
) -> Result<Value, ParseError> {
    match (kind, value) {
        (MemberKind::Message(known), Value::Object(members)) => {
            object(known, members, unknown, &format!("{path}.")).map(Value::Object)
        }
        (MemberKind::String, Value::String(_))
        | (MemberKind::Bool, Value::Bool(_))
        | (MemberKind::Opaque, _) => Ok(value.clone()),
        _ => Err(wrong_type(path)),
    }
}

fn wrong_type(path: &str) -> ParseError {
    not_a_card(format_args!("{path} has the wrong type"))
}

fn insert(
    members: &mut Map<String, Value>,
    name: &str,
    value: Value,
    path: &str,
) -> Result<(), ParseError> {
    // `iconUrl` and `icon_url` are one member.
    match members.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(not_a_card(format_args!("duplicate member {path}"))),
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
