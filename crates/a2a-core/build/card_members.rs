//! The tables of the members of a card.

use std::{collections::BTreeSet, fmt::Write as _};

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use crate::descriptor::{Package, is_required};

pub(crate) fn generate(package: &Package) -> Result<String, String> {
    let card = package.messages.iter().find(|message| message.name() == "AgentCard");
    let mut waiting = vec![card.ok_or("the package has no AgentCard")?.clone()];
    let mut known = BTreeSet::new();
    let mut code = String::new();
    while let Some(message) = waiting.pop() {
        if !known.insert(table(&message)) {
            continue;
        }
        let members: String = message.fields().map(|field| member(&field)).collect();
        let _ = writeln!(code, "pub static {}: &[Member] = &[{members}];", table(&message));
        waiting.extend(message.fields().filter_map(|field| nested(&value(&field), package)));
    }
    Ok(code)
}

/// The name of the table of a message.
fn table(message: &MessageDescriptor) -> String {
    let mut name = String::new();
    for letter in message.name().chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    name
}

/// The field of the values of a map, or the field itself.
fn value(field: &FieldDescriptor) -> FieldDescriptor {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => entry.map_entry_value_field(),
        _ => field.clone(),
    }
}

fn nested(field: &FieldDescriptor, package: &Package) -> Option<MessageDescriptor> {
    match field.kind() {
        Kind::Message(message) => package.messages.iter().find(|one| **one == message).cloned(),
        _ => None,
    }
}

fn member(field: &FieldDescriptor) -> String {
    let shape = match (field.is_map(), field.is_list()) {
        (true, _) => "Map",
        (_, true) => "List",
        _ => "Single",
    };
    let value = value(field);
    let kind = match value.kind() {
        Kind::Message(message)
            if message.package_name() == field.parent_message().package_name() =>
        {
            format!("Message(&{})", table(&message))
        }
        Kind::String => "String".to_owned(),
        Kind::Bool => "Bool".to_owned(),
        _ => "Opaque".to_owned(),
    };
    format!(
        "Member {{ name: {:?}, json_name: {:?}, shape: Shape::{shape}, kind: MemberKind::{kind}, \
         keeps_default: {} }}, ",
        field.name(),
        field.json_name(),
        is_required(field) || field.supports_presence(),
    )
}
