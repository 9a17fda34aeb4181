//! ProtoJSON with serde: attributes for plain messages, pbjson for unions, and enum names.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt::Write as _,
    fs, io,
    path::Path,
};

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use crate::descriptor::{Package, is_required, is_union, rust_type};

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
const FORMS: &str = "add one to `form` in crates/a2a-core/build/json.rs, and what it reads and \
                     prints with to crates/a2a-core/src/json.rs";

const TIMESTAMP: &str = "google.protobuf.Timestamp";

/// Adds serde derives to plain messages, and attributes to their fields.
pub(crate) fn configure(
    config: &mut prost_build::Config,
    package: &Package,
) -> Result<(), Box<dyn Error>> {
    let requested = requested(package);
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
             #[cfg_attr(not(doc), serde(remote = \"Self\"))]",
        );
        let is_requested = requested.contains(message.full_name());
        for field in message.fields() {
            config.field_attribute(field.full_name(), attribute(&field, is_requested)?);
            if let Kind::Enum(kind) = field.kind() {
                config
                    .field_attribute(field.full_name(), enum_doc(&field, &rust_type(kind.name())));
            }
        }
    }
    Ok(())
}

/// Checks that the handwritten form covers all members of its message.
pub(crate) fn check_by_hand(message: &MessageDescriptor) -> Result<(), Box<dyn Error>> {
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

/// The serde attributes of a field.
fn form(
    field: &FieldDescriptor,
    is_requested: bool,
) -> Result<(String, &'static str), Box<dyn Error>> {
    let or_default = || "deserialize_with = \"crate::json::or_default\"".to_owned();
    let none = "::std::option::Option::is_none";
    let unsupported =
        |what: String| format!("no JSON form for {what} of {}: {FORMS}", field.full_name());
    if field.is_map() {
        let Kind::Message(entry) = field.kind() else {
            return Err(unsupported("the map".into()).into());
        };
        let (key, value) =
            (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
        return match (&key, &value) {
            (Kind::String, Kind::Message(_) | Kind::Bool | Kind::String) => {
                Ok((or_default(), "::std::collections::BTreeMap::is_empty"))
            }
            _ => Err(unsupported(format!("map<{key:?}, {value:?}>")).into()),
        };
    }
    if field.is_list() {
        return match field.kind() {
            Kind::Message(_) | Kind::Bool | Kind::String => {
                Ok((or_default(), "::std::vec::Vec::is_empty"))
            }
            kind => Err(unsupported(format!("repeated {kind:?}")).into()),
        };
    }
    Ok(match (field.kind(), field.supports_presence()) {
        // Members that only occur in responses are read leniently.
        (Kind::Message(kind), _) if kind.full_name() == TIMESTAMP && !is_requested => {
            ("deserialize_with = \"crate::json::timestamp_in_response\"".into(), none)
        }
        (Kind::Message(_), _) | (Kind::Bool | Kind::String, true) => (String::new(), none),
        (Kind::Int32, true) => ("deserialize_with = \"crate::json::int32_option\"".into(), none),
        (Kind::Int32, false) => {
            ("deserialize_with = \"crate::json::int32\"".into(), "crate::json::is_default")
        }
        (Kind::Bool, false) => (or_default(), "crate::json::is_default"),
        (Kind::String, false) => (or_default(), "::std::string::String::is_empty"),
        (Kind::Enum(kind), false) => (
            format!("with = \"crate::json::AsName::<{}>\"", rust_type(kind.name())),
            "crate::json::is_default",
        ),
        (kind, _) => return Err(unsupported(format!("{kind:?}")).into()),
    })
}

/// The doc attributes of an enum field, a paragraph after the comment of the proto.
fn enum_doc(field: &FieldDescriptor, kind: &str) -> String {
    let name = field.name();
    format!(
        "#[doc = \"\"] #[doc = \"The number of a [`{kind}`]: read it with [`{name}`](Self::{name}), \
         write it as `{kind}::….into()`.\"]"
    )
}

fn attribute(field: &FieldDescriptor, is_requested: bool) -> Result<String, Box<dyn Error>> {
    let (form, is_unset) = form(field, is_requested)?;
    let mut parts = vec!["default".to_owned()];
    if field.json_name() != field.name() {
        parts.push(format!("rename = \"{}\", alias = \"{}\"", field.json_name(), field.name()));
    }
    if !form.is_empty() {
        parts.push(form);
    }
    // REQUIRED members are also written with their default value (`"tasks": []`); messages have
    // none.
    if !is_required(field)
        || matches!(field.kind(), Kind::Message(_)) && !field.is_list() && !field.is_map()
    {
        parts.push(format!("skip_serializing_if = \"{is_unset}\""));
    }
    Ok(format!("#[serde({})]", parts.join(", ")))
}

/// Generates the JSON form of messages that only have a union.
pub(crate) fn write_unions(
    descriptor: &[u8],
    package: &Package,
    out: &Path,
) -> Result<(), Box<dyn Error>> {
    let unions: Vec<String> = package
        .messages
        .iter()
        .filter(|message| is_union(message))
        .map(|message| format!(".{}", message.full_name()))
        .collect();
    let mut builder = pbjson_build::Builder::new();
    builder.register_descriptors(descriptor)?.ignore_unknown_fields();
    let generated = builder.generate(&unions, |_| Ok(io::Cursor::new(Vec::new())))?;
    let mut text = Vec::new();
    for (_, code) in generated {
        text.extend(code.into_inner());
    }
    fs::write(out.join("unions.rs"), text)?;
    Ok(())
}

/// Generates the enum names, and the JSON form of plain messages.
pub(crate) fn ties(package: &Package) -> String {
    let mut code = String::new();
    for message in &package.messages {
        if message.full_name() != BY_HAND && !is_union(message) {
            let _ = writeln!(code, "object!({});", rust_type(message.name()));
        }
    }
    for item in &package.enums {
        let _ = writeln!(code, "enumeration!({});", rust_type(item.name()));
    }
    code
}
