//! ProtoJSON with serde: attributes for plain messages, code for unions, and enum names.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt::Write as _,
};

use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use crate::descriptor::{
    Package, enum_type, is_required, is_union, message_type, rust_field, rust_type, variant_type,
};

/// Handwritten: a union with other members.
const BY_HAND: &str = "lf.a2a.v1.Part";

/// The members of the handwritten form of [`BY_HAND`], with their types.
const MEMBERS_BY_HAND: [(&str, &str); 7] = [
    ("text", "string in content"),
    ("raw", "bytes in content"),
    ("url", "string in content"),
    ("data", "google.protobuf.Value in content"),
    ("metadata", "google.protobuf.Struct"),
    ("filename", "string"),
    ("media_type", "string"),
];

/// Where to add a JSON form for another field type.
const FORMS: &str = "add one to crates/a2a-core/build/json.rs, what it reads and writes with to \
                     crates/a2a-core/src/json, and a well-known type to crates/a2a-core/build.rs \
                     and crates/a2a-core/src/well_known";

const TIMESTAMP: &str = "google.protobuf.Timestamp";
const VALUE: &str = "google.protobuf.Value";

/// Messages of other packages whose types have a JSON form.
const PLAIN: [&str; 2] = ["google.protobuf.Struct", TIMESTAMP];

/// Adds serde derives to plain messages, and attributes to their fields.
pub(crate) fn configure(
    config: &mut prost_build::Config,
    package: &Package,
) -> Result<(), Box<dyn Error>> {
    let requested = requested(package);
    for item in &package.enums {
        check_enum(item)?;
    }
    for message in &package.messages {
        if message.full_name() == BY_HAND {
            check_by_hand(message)?;
            continue;
        }
        if is_union(message) {
            continue;
        }
        if message.oneofs().any(|oneof| !oneof.is_synthetic()) {
            return Err(format!(
                "no JSON form for {}, a union with other members: write one as for {BY_HAND} \
                 in crates/a2a-core/src/part.rs, and name it in crates/a2a-core/build/json.rs",
                message.full_name()
            )
            .into());
        }
        config.message_attribute(
            message.full_name(),
            // With `remote`, the derived functions are public methods, which users never call:
            // rustdoc gets the traits alone.
            "#[derive(::serde::Serialize, ::serde::Deserialize)] \
             #[cfg_attr(not(doc), serde(remote = \"Self\"))] #[serde(expecting = \"an object\")]",
        );
        let is_requested = requested.contains(message.full_name());
        for field in message.fields() {
            config.field_attribute(field.full_name(), attribute(&field, is_requested)?);
            if let Kind::Enum(kind) = field.kind() {
                config.field_attribute(field.full_name(), enum_doc(&field, &kind));
            }
        }
    }
    Ok(())
}

/// Checks that each value of an enum has one name and one number.
fn check_enum(item: &EnumDescriptor) -> Result<(), Box<dyn Error>> {
    let mut numbers = BTreeSet::new();
    for value in item.values() {
        if value.number() < 0 || !numbers.insert(value.number()) {
            return Err(format!(
                "no JSON form for {}, an alias or a negative number: add one to \
                 crates/a2a-core/src/json/enumeration.rs",
                value.full_name()
            )
            .into());
        }
    }
    Ok(())
}

/// Checks that the handwritten form covers all members of its message.
fn check_by_hand(message: &MessageDescriptor) -> Result<(), Box<dyn Error>> {
    let mut known: BTreeMap<&str, &str> = MEMBERS_BY_HAND.into();
    for field in message.fields() {
        let mut kind = match field.kind() {
            Kind::Message(kind) => kind.full_name().to_owned(),
            kind => format!("{kind:?}"),
        };
        if field.is_list() || field.is_map() {
            kind.insert_str(0, "repeated ");
        }
        if let Some(oneof) = field.containing_oneof() {
            let _ = write!(kind, " in {}", oneof.name());
        }
        if known.remove(field.name()) != Some(&*kind) {
            return Err(format!(
                "{} ({kind}) has no JSON form: read and print it in crates/a2a-core/src/part.rs, \
                 and add it to MEMBERS_BY_HAND in crates/a2a-core/build/json.rs",
                field.full_name()
            )
            .into());
        }
    }
    match known.into_keys().next() {
        Some(name) => Err(format!(
            "{} has no {name} any more: remove it from crates/a2a-core/src/part.rs and from \
             MEMBERS_BY_HAND in crates/a2a-core/build/json.rs",
            message.full_name()
        )
        .into()),
        None => Ok(()),
    }
}

/// The messages in requests.
fn requested(package: &Package) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<MessageDescriptor> =
        package.service.methods().map(|method| method.input()).collect();
    while let Some(message) = open.pop() {
        if found.insert(message.full_name().to_owned()) {
            open.extend(message.fields().filter_map(|field| match field.kind() {
                Kind::Message(inner) => Some(inner),
                _ => None,
            }));
        }
    }
    found
}

/// What writes and reads a value of a kind, if serde's own serialization is not its JSON form.
fn element(kind: &Kind, field: &FieldDescriptor) -> Result<Option<String>, Box<dyn Error>> {
    let ours = field.parent_message().package_name().to_owned();
    let form = match kind {
        Kind::Bool | Kind::String => return Ok(None),
        Kind::Message(message) if message.package_name() == ours => return Ok(None),
        Kind::Message(message) if PLAIN.contains(&message.full_name()) => return Ok(None),
        Kind::Message(message) if message.full_name() == VALUE => "Json".to_owned(),
        Kind::Enum(kind) if kind.package_name() == ours => format!("Name::<{}>", enum_type(kind)),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "Integer::<i32>".to_owned(),
        Kind::Uint32 | Kind::Fixed32 => "Integer::<u32>".to_owned(),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => "Integer::<i64>".to_owned(),
        Kind::Uint64 | Kind::Fixed64 => "Integer::<u64>".to_owned(),
        Kind::Float => "Float::<f32>".to_owned(),
        Kind::Double => "Float::<f64>".to_owned(),
        Kind::Bytes => "Base64".to_owned(),
        Kind::Message(_) | Kind::Enum(_) => {
            let name = field.full_name();
            return Err(format!("no JSON form for {kind:?} of {name}: {FORMS}").into());
        }
    };
    Ok(Some(format!("crate::json::{form}")))
}

/// The serde attributes of a field.
fn form(field: &FieldDescriptor, is_requested: bool) -> Result<(String, String), Box<dyn Error>> {
    let or_default = || "deserialize_with = \"crate::json::or_default\"".to_owned();
    let with = |form: String| format!("with = \"crate::json::{form}\"");
    if let Kind::Message(entry) = field.kind()
        && field.is_map()
    {
        let value = element(&entry.map_entry_value_field().kind(), field)?;
        let is_plain = matches!(entry.map_entry_key_field().kind(), Kind::String);
        let form = match value {
            None if is_plain => or_default(),
            None => with("Map::<_, crate::json::Plain<_>>".to_owned()),
            Some(value) => with(format!("Map::<_, {value}>")),
        };
        return Ok((form, "::std::collections::BTreeMap::is_empty".to_owned()));
    }
    let element = element(&field.kind(), field)?;
    if field.is_list() {
        let form = element.map_or_else(or_default, |form| with(format!("Repeated::<{form}>")));
        return Ok((form, "::std::vec::Vec::is_empty".to_owned()));
    }
    if field.supports_presence() {
        let form = match (element, field.kind()) {
            (Some(form), _) => with(format!("Optional::<{form}>")),
            // Members that only occur in responses are read leniently.
            (None, Kind::Message(kind)) if kind.full_name() == TIMESTAMP && !is_requested => {
                "deserialize_with = \"crate::json::timestamp_in_response\"".to_owned()
            }
            (None, _) => String::new(),
        };
        return Ok((form, "::std::option::Option::is_none".to_owned()));
    }
    let is_unset = match field.kind() {
        Kind::String => "::std::string::String::is_empty",
        Kind::Bytes => "::std::vec::Vec::is_empty",
        Kind::Float => "crate::json::Float::<f32>::is_default",
        Kind::Double => "crate::json::Float::<f64>::is_default",
        _ => "crate::json::is_default",
    };
    let form = element.map_or_else(or_default, |form| with(format!("Singular::<{form}>")));
    Ok((form, is_unset.to_owned()))
}

/// The doc attributes of an enum field, a paragraph after the comment of the proto.
fn enum_doc(field: &FieldDescriptor, kind: &EnumDescriptor) -> String {
    let (name, is_nested) = (field.name(), kind.parent_message().is_some());
    let kind = rust_type(kind.name());
    // The name of a nested enum is not in scope of every message.
    let link = if is_nested { format!("`{kind}`") } else { format!("[`{kind}`]") };
    format!(
        "#[doc = \"\"] #[doc = \"The number of a {link}: read it with [`{name}`](Self::{name}), \
         write it as `{kind}::….into()`.\"]"
    )
}

fn attribute(field: &FieldDescriptor, is_requested: bool) -> Result<String, Box<dyn Error>> {
    let (form, is_unset) = form(field, is_requested)?;
    let mut parts = vec!["default".to_owned()];
    let (json, name) = (field.json_name(), field.name());
    if json != rust_field(name) {
        parts.push(format!("rename = \"{json}\""));
    }
    if json != name {
        parts.push(format!("alias = \"{name}\""));
    }
    if !form.is_empty() {
        parts.push(form);
    }
    // REQUIRED members are also written with their default value (`"tasks": []`), if they have one.
    if !is_required(field) || field.supports_presence() {
        parts.push(format!("skip_serializing_if = \"{is_unset}\""));
    }
    Ok(format!("#[serde({})]", parts.join(", ")))
}

/// Generates the enum names, and the JSON forms of messages.
pub(crate) fn ties(package: &Package) -> Result<String, Box<dyn Error>> {
    let mut code = String::new();
    for message in &package.messages {
        if is_union(message) {
            union(&mut code, message)?;
        } else if message.full_name() != BY_HAND {
            let _ = writeln!(code, "object!({});", message_type(message));
        }
    }
    for item in &package.enums {
        let _ = writeln!(code, "enumeration!({});", enum_type(item));
    }
    Ok(code)
}

/// Generates the JSON form of a message that only has a union.
fn union(code: &mut String, message: &MessageDescriptor) -> Result<(), Box<dyn Error>> {
    let mut oneofs = message.oneofs();
    let (Some(oneof), None) = (oneofs.next(), oneofs.next()) else {
        let name = message.full_name();
        return Err(format!("no JSON form for {name}, which has several unions: {FORMS}").into());
    };
    let name = rust_field(oneof.name());
    let _ = writeln!(code, "union!({}, {name};", message_type(message));
    for (index, field) in oneof.fields().enumerate() {
        let form = element(&field.kind(), &field)?;
        let form = form.unwrap_or_else(|| "crate::json::Plain<_>".to_owned());
        let mut names = format!("\"{}\"", field.json_name());
        if field.json_name() != field.name() {
            let _ = write!(names, ", \"{}\"", field.name());
        }
        let variant = variant_type(&oneof, &field);
        let _ = writeln!(code, "    {index} [{names}] {variant}: {form};");
    }
    code.push_str(");\n");
    Ok(())
}
