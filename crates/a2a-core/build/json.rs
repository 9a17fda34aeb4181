//! ProtoJSON by serde: attributes for the plain messages, pbjson for the unions, and the names
//! of enum values.

use std::{error::Error, fmt::Write as _, fs, io, path::Path};

use prost_reflect::{FieldDescriptor, Kind};

use crate::descriptor::{Package, is_required, is_union, rust_type};

/// Written by hand: a union with members beside it.
const BY_HAND: &str = "lf.a2a.v1.Part";

/// Gives every plain message its serde derives and every field its form.
pub(crate) fn configure(
    config: &mut prost_build::Config,
    package: &Package,
) -> Result<(), Box<dyn Error>> {
    for message in &package.messages {
        let has_union = message.oneofs().any(|oneof| !oneof.is_synthetic());
        if message.full_name() == BY_HAND || is_union(message) {
            continue;
        }
        if has_union {
            return Err(format!("no JSON form for {}", message.full_name()).into());
        }
        config.message_attribute(
            message.full_name(),
            "#[derive(::serde::Serialize, ::serde::Deserialize)] #[serde(remote = \"Self\")]",
        );
        for field in message.fields() {
            config.field_attribute(field.full_name(), attribute(&field)?);
        }
    }
    Ok(())
}

fn attribute(field: &FieldDescriptor) -> Result<String, Box<dyn Error>> {
    let explicit = field.supports_presence();
    let (form, is_unset) = if field.is_map() {
        (
            "deserialize_with = \"crate::json::or_default\"".into(),
            "::std::collections::BTreeMap::is_empty",
        )
    } else if field.is_list() {
        ("deserialize_with = \"crate::json::or_default\"".into(), "::std::vec::Vec::is_empty")
    } else {
        match (field.kind(), explicit) {
            (Kind::Message(_), _) | (Kind::Bool | Kind::String, true) => {
                (String::new(), "::std::option::Option::is_none")
            }
            (Kind::Int32, true) => (
                "deserialize_with = \"crate::json::int32_option\"".into(),
                "::std::option::Option::is_none",
            ),
            (Kind::Int32, false) => {
                ("deserialize_with = \"crate::json::int32\"".into(), "crate::json::is_default")
            }
            (Kind::Bool, false) => {
                ("deserialize_with = \"crate::json::or_default\"".into(), "crate::json::is_default")
            }
            (Kind::String, false) => (
                "deserialize_with = \"crate::json::or_default\"".into(),
                "::std::string::String::is_empty",
            ),
            (Kind::Enum(kind), false) => (
                format!("with = \"crate::json::AsName::<{}>\"", rust_type(kind.name())),
                "crate::json::is_default",
            ),
            (kind, _) => {
                return Err(format!("no JSON form for {kind:?} of {}", field.full_name()).into());
            }
        }
    };
    let mut parts = vec!["default".to_owned()];
    if field.json_name() != field.name() {
        parts.push(format!("rename = \"{}\", alias = \"{}\"", field.json_name(), field.name()));
    }
    if !form.is_empty() {
        parts.push(form);
    }
    // A REQUIRED member is printed also at its default (`"tasks": []`); a message has none.
    if !is_required(field)
        || matches!(field.kind(), Kind::Message(_)) && !field.is_list() && !field.is_map()
    {
        parts.push(format!("skip_serializing_if = \"{is_unset}\""));
    }
    Ok(format!("#[serde({})]", parts.join(", ")))
}

/// Writes the JSON form of the messages that are only a union.
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

/// Ties the names of the enums' values to them, and the plain messages to their JSON form.
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
